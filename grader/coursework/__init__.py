"""The instructor's loop over a course that is run with nbgrader: collect, grade, gradebook, feedback, overview."""
