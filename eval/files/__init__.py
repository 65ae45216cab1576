"""The files of the tasks: tables, queries, tweets, answers, and the faults that a check finds in
them.
"""
