"""The graded tests, with their oracles, inputs and tolerances. They know `nanolm` and no implementation."""
