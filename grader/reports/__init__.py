"""Reports: pure functions of graded submissions, one consumer's format a module."""
