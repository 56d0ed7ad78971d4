"""Escaping: one file for each kind of output. Names and messages come from strangers; here they become harmless text.

In: any text. Out: text that means nothing to the terminal, the spreadsheet, GitHub, the XML parser or the browser that
gets it. Nothing else in gradmark escapes; `commands/terminal.py` is the only file that prints.
"""
