"""Files of records: lines and tables of any dialect, TREC runs, judgements and topics."""
