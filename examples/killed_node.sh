#!/usr/bin/env bash
# A node of a Ray cluster is killed while a server answers: bash examples/killed_node.sh, in an empty folder with a link to examples.
set -e
python examples/three_nodes.py > nodes.txt 2> nodes.log &
nodes=$!
until [ "$(grep -sc . nodes.txt)" = 3 ]; do sleep 1; done
address=$(head -1 nodes.txt)
factseek index snippets examples/snippets-en.tsv --index many
factseek shard many --into 3
echo 'cluster: {replicas: 2, cpus: 0.5}' > config.yaml
factseek serve --index many=many --ray $address --config config.yaml --port 8000 2> server.log &
server=$!
until curl --silent --fail http://127.0.0.1:8000/readyz > ready.json; do sleep 1; done
factseek cluster status --index many --ray $address --config config.yaml
for request in $(seq 200); do
  curl --silent --header 'Content-Type: application/json' --data '{"query": "vaccines cause autism"}' \
    http://127.0.0.1:8000/v1/many/search
  echo
done > answers.jsonl &
load=$!
sleep 1
kill -9 $(tail -1 nodes.txt)
wait $load
python -c '
import collections, json
answers = [json.loads(line) for line in open("answers.jsonl")]
kinds = collections.Counter(str((answer["hits"], answer.get("coverage", "whole"))) for answer in answers)
print(len(answers), "answers,", len(kinds), "different")'
kill $server
wait $server || true
factseek cluster stop --index many --ray $address --config config.yaml
kill $nodes
wait $nodes
