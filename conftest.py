"""Loads the plugin of the graded tests."""

pytest_plugins = ["nanolm.plugin"]
