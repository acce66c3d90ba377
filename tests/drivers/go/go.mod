module sessions

go 1.18

require github.com/neo4j/neo4j-go-driver/v5 v5.28.4
