"""Files of samples judged against files of problems, resumable, with Pass@k."""
