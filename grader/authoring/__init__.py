"""The notebooks: from texts and solutions to the instructors' notebooks, and from these to the students'."""
