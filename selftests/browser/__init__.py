"""A real browser on JupyterLab and formgrader: the browser, the servers, the class they show, and what is watched."""
