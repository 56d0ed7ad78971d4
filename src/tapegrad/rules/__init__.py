"""The rules of the scalar operations as data, and what is made from them.

It imports nothing else of tapegrad: setup.py runs it before there is anything compiled.
"""
