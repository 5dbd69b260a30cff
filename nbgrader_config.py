"""nbgrader looks for this name; the settings are in grader_config.py."""

load_subconfig("grader_config.py")  # noqa: F821
