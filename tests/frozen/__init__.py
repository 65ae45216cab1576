"""What commands, searches and requests answered when it was written down, and the script that
writes it.
"""
