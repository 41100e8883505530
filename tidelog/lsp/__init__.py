"""A server for the Language Server Protocol 3.17, over standard input and output.

`jsonrpc` reads and writes messages, `document` analyses one program, `server` answers requests.
"""
