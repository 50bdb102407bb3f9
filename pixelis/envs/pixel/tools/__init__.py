"""The tools that work on pixels (SEGMENT, GET_PROPERTIES, ZOOM, READ_TEXT, TRACK), and their view."""
