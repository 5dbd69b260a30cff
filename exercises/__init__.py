"""Your exercises: each file says what to write. `NANOLM_IMPL=exercises pytest` tells how far you are."""
