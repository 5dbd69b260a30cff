"""What nbgrader loads from here, named in grader_config.py: nothing that it runs executes a student's code."""
