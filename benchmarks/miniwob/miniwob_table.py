"""Which scripted solver plays which MiniWoB++ task."""

from __future__ import annotations

import basic_solvers as basic
import drag_solvers as drag
import drawn_solvers as drawn
import more_solvers as more
from basic_solvers import Solver

SOLVERS: dict[str, Solver] = {
    **dict.fromkeys(
        ("click-test", "click-test-2", "click-test-transfer", "click-button", "unicode-test"),
        basic.press_named,
    ),
    **dict.fromkeys(("click-button-sequence", "button-delay"), basic.press_sequence),
    **dict.fromkeys(
        ("click-checkboxes", "click-checkboxes-large", "click-checkboxes-transfer", "click-option"),
        basic.tick_listed,
    ),
    "click-link": basic.press_link,
    "click-tab": basic.choose_tab,
    **dict.fromkeys(
        ("click-tab-2", "click-tab-2-easy", "click-tab-2-medium", "click-tab-2-hard"), basic.search_tabs
    ),
    **dict.fromkeys(("click-collapsible-2", "click-collapsible-2-nodelay"), basic.search_tabs),
    **dict.fromkeys(("click-collapsible", "click-collapsible-nodelay"), basic.open_section),
    **dict.fromkeys(("click-dialog", "click-dialog-2"), basic.press_in_dialog),
    "click-menu": basic.walk_menu,
    "click-color": basic.press_colour,
    "click-shades": basic.press_shades,
    "click-shape": drawn.press_shape,
    "click-widget": basic.press_widget,
    **dict.fromkeys(("click-pie", "click-pie-nodelay"), basic.press_pie),
    "count-shape": drawn.count_shapes,
    "identify-shape": drawn.name_shape,
    "ascending-numbers": drawn.press_ascending,
    "buy-ticket": basic.press_cheapest,
    "find-greatest": basic.press_card,
    "odd-or-even": basic.mark_parity,
    **dict.fromkeys(
        ("enter-text", "enter-text-2", "enter-text-dynamic", "enter-password"), basic.type_quoted
    ),
    "enter-date": basic.type_date,
    "enter-time": basic.type_time,
    **dict.fromkeys(("focus-text", "focus-text-2"), basic.focus),
    **dict.fromkeys(("simple-arithmetic", "simple-algebra"), basic.calculate),
    "find-word": basic.find_word,
    **dict.fromkeys(("copy-paste", "copy-paste-2"), basic.copy_area),
    "scroll-text": basic.last_word,
    "scroll-text-2": more.scroll_area,
    "text-transform": basic.type_shown,
    **dict.fromkeys(("login-user", "login-user-popup"), basic.log_in),
    "search-engine": basic.search,
    **dict.fromkeys(("read-table", "read-table-2"), basic.read_table),
    "guess-number": basic.guess,
    "generate-number": basic.generate,
    **dict.fromkeys(("use-autocomplete", "use-autocomplete-nodelay"), basic.use_autocomplete),
    **dict.fromkeys(("multi-layouts", "multi-orderings"), basic.fill_layout),
    **dict.fromkeys(("choose-list", "click-scroll-list"), basic.choose_listed),
    **dict.fromkeys(
        ("choose-date", "choose-date-easy", "choose-date-medium", "choose-date-nodelay"), basic.choose_date
    ),
    **dict.fromkeys(("use-slider", "use-slider-2"), basic.use_slider),
    "use-spinner": basic.use_spinner,
    "form-sequence": basic.form_slider,
    "form-sequence-2": basic.form_radio,
    "navigate-tree": drawn.open_tree,
    "grid-coordinate": drawn.press_coordinate,
    "tic-tac-toe": drawn.win_at_noughts,
    **dict.fromkeys(
        (
            "email-inbox",
            "email-inbox-delete",
            "email-inbox-forward",
            "email-inbox-important",
            "email-inbox-noscroll",
            "email-inbox-reply",
            "email-inbox-star-reply",
        ),
        more.mail,
    ),
    **dict.fromkeys(("social-media", "social-media-all", "social-media-some"), more.posts),
    **dict.fromkeys(("book-flight", "book-flight-nodelay"), more.book_flight),
    "phone-book": more.phone_book,
    **dict.fromkeys(("highlight-text", "highlight-text-2"), more.mark_text),
    "sign-agreement": more.sign,
    "drag-box": more.drag_box,
    **dict.fromkeys(("drag-circle", "drag-single-shape"), more.drag_way),
    "drag-sort-numbers": more.sort_numbers,
    "circle-center": more.press_centre,
    "find-midpoint": more.press_midpoint,
    "visual-addition": more.add_blocks,
    "stock-market": more.buy_stock,
    "simon-says": more.repeat_lights,
    "terminal": more.delete_file,
    "resize-textarea": more.widen_area,
    "text-editor": more.edit_text,
    "use-colorwheel": more.type_colour,
    "order-food": more.order_food,
    **dict.fromkeys(
        ("email-inbox-forward-nl", "email-inbox-forward-nl-turk", "email-inbox-nl-turk"), more.mail_in_words
    ),
    "use-colorwheel-2": more.type_colour,
    "click-menu-2": drag.search_menu,
    "form-sequence-3": drag.choose_made_up,
    "daily-calendar": drag.make_event,
    "drag-items": drag.drag_item,
    "drag-items-grid": drag.drag_in_grid,
    **dict.fromkeys(("drag-shapes", "drag-shapes-2"), drag.drag_into_boxes),
    "draw-line": drag.draw_line,
    "right-angle": drag.right_angle,
    "bisect-angle": drag.halve_angle,
    "hot-cold": drag.find_hot,
}
"""Task → solver."""
