"""A language server: what editors ask about programs while they are written.

The protocol is the Language Server Protocol 3.17, over the standard input and output. `wire`
has its frames, `document` what is known of one program, `server` the requests.
"""
