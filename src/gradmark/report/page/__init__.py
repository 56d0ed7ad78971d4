"""The HTML page: `page` makes plain data of runs, section by section; `html` puts it into one self-contained file."""
