#if PostgreSQL
    import SheafHubLog

    /// Objects, replaceable objects and logs: the requests that block their callers.
    struct ObjectTables: Sendable {
        private let pool: RequestPool
        private let database: PQParameter

        init(_ pool: RequestPool, database: [UInt8]) {
            self.pool = pool
            self.database = .bytes(database)
        }

        // MARK: - Objects

        /// Stores an object in chunks, unless it exists.
        func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) {
            try pool.run("object \(name)") { statements throws(RequestError) in
                try statements.transaction { () throws(RequestError) in
                    let key = [database, PQParameter.text(name)]
                    let stored = try statements.request(
                        PostgreSQLSchema.putObject, key + [.number(UInt64(bytes.count))])
                    guard stored.changedRowCount > 0 else { return }
                    let length = PostgreSQLLimits.chunkLength
                    for start in stride(from: 0, to: bytes.count, by: length) {
                        let chunk = bytes[start..<min(start + length, bytes.count)]
                        try statements.request(
                            PostgreSQLSchema.putChunk,
                            key + [.number(UInt64(start / length)), .bytes(Array(chunk))])
                    }
                }
            }
        }

        /// Calls `body` with the chunks of an object.
        func get(
            _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
        ) throws(HubLogError) {
            try pool.run("object \(name)") { statements throws(RequestError) in
                let key = [database, PQParameter.text(name)]
                let object = try statements.request(PostgreSQLSchema.object, key)
                guard object.rowCount > 0 else { throw .error(.missing("object \(name)")) }
                var rest = try object.requestedNumber(0, 0)
                var next: UInt64 = 0
                while rest > 0 {
                    let rows = try statements.request(
                        PostgreSQLSchema.chunks,
                        key + [.number(next), .number(UInt64(PostgreSQLLimits.readChunks))])
                    guard rows.rowCount > 0 else { throw .error(.damaged("object \(name)")) }
                    for row in 0..<rows.rowCount {
                        let chunk = try rows.requestedBytes(row, 1)
                        guard try rows.requestedNumber(row, 0) == next, !chunk.isEmpty,
                            UInt64(chunk.count) <= rest
                        else { throw .error(.damaged("object \(name)")) }
                        do throws(HubLogError) { try body(chunk) } catch { throw .error(error) }
                        next += 1
                        rest -= UInt64(chunk.count)
                    }
                }
            }
        }

        /// Returns the names of objects that begin with a prefix, in the order of their bytes.
        func list(_ prefix: String) throws(HubLogError) -> [String] {
            try pool.run("list of objects") { statements throws(RequestError) in
                let rows = try statements.request(
                    PostgreSQLSchema.list, [database, .text(prefix)])
                return (0..<rows.rowCount).compactMap { rows.text($0, 0) }
            }
        }

        /// Removes an object, if it exists.
        func remove(_ name: String) throws(HubLogError) {
            try pool.run("removal of object \(name)") { statements throws(RequestError) in
                _ = try statements.request(
                    PostgreSQLSchema.removeObject, [database, .text(name)])
            }
        }

        // MARK: - Replaceable objects

        /// Returns a replaceable object and its revision; nil if there is none.
        func load(_ name: String) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? {
            try pool.run("replaceable object \(name)") { statements throws(RequestError) in
                let rows = try statements.request(
                    PostgreSQLSchema.load, [database, .text(name)])
                guard rows.rowCount > 0 else { return nil }
                return (try rows.requestedBytes(0, 0), try rows.requestedNumber(0, 1))
            }
        }

        /// Replaces an object if it has a revision, or creates it.
        func replace(
            _ name: String, with bytes: [UInt8], at revision: UInt64?
        ) throws(HubLogError) -> HubLogReplacement {
            var isSent = false
            do throws(HubLogError) {
                return try pool.run("replaceable object \(name)") {
                    statements throws(RequestError) in
                    let parameters = [database, PQParameter.text(name), .bytes(bytes)]
                    isSent = true
                    let result =
                        if let revision {
                            try statements.request(
                                PostgreSQLSchema.replaceRegister, parameters + [.number(revision)])
                        } else {
                            try statements.request(PostgreSQLSchema.createRegister, parameters)
                        }
                    return result.changedRowCount > 0 ? .replaced : .changed
                }
            } catch {
                // The server may have committed it, or have committed it without the standby.
                switch error {
                case .disconnected where isSent, .timeout where isSent: return .ambiguous(error)
                default: throw error
                }
            }
        }

        // MARK: - Logs

        /// Creates a log, unless it exists without entries.
        func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
            guard 1...HubLimits.shards ~= shardCount else {
                throw .refused(
                    "a log of \(shardCount) shards; 1 to \(HubLimits.shards) are right")
            }
            try pool.run("log") { statements throws(RequestError) in
                let id = PQParameter.bytes(log.littleEndianBytes)
                try statements.transaction { () throws(RequestError) in
                    try statements.request(
                        PostgreSQLSchema.create, [id, .small(shardCount), database])
                    let row = try statements.request(PostgreSQLSchema.created, [id])
                    let count = try row.requestedNumber(0, 0)
                    let last = try row.requestedNumber(0, 1)
                    guard count == UInt64(shardCount), last == 0 else {
                        throw .error(
                            .refused(
                                "a log with this id exists, with \(count) shards and up to "
                                    + "\(last) entries in each; draw another id"))
                    }
                }
            }
        }

        /// Returns the logs of the database that have, or had, entries.
        func logs() throws(HubLogError) -> [HubLogID] {
            try pool.run("list of logs") { statements throws(RequestError) in
                let rows = try statements.request(PostgreSQLSchema.logs, [database])
                var logs: [HubLogID] = []
                for row in 0..<rows.rowCount {
                    let bytes = try rows.requestedBytes(row, 0)
                    guard let log = HubLogID(littleEndianBytes: bytes) else {
                        throw .error(
                            .refused("a row of sheaf.shard has a log that is not 16 bytes long"))
                    }
                    logs.append(log)
                }
                return logs
            }
        }

        /// Throws unless a log has its shards.
        func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
            try pool.run("log") { statements throws(RequestError) in
                let row = try statements.request(
                    PostgreSQLSchema.shards, [.bytes(log.littleEndianBytes), database])
                guard try row.requestedNumber(0, 0) == UInt64(shardCount) else {
                    throw .error(
                        .missing(
                            "log with \(shardCount) shards in sheaf.shard; restore it from a "
                                + "backup, or run 'sheaf hub replace --force'"))
                }
            }
        }

        /// Removes some entries of a shard before a number; returns whether there may be others.
        func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool {
            try pool.run("removal of old entries") { statements throws(RequestError) in
                let parameters: [PQParameter] = [
                    .bytes(shard.log.littleEndianBytes), .small(Int(shard.number)),
                    .number(entry), .number(UInt64(PostgreSQLLimits.trimmedEntries)),
                ]
                return try statements.request(PostgreSQLSchema.trim, parameters)
                    .changedRowCount > 0
            }
        }

        /// Removes a log, its counters first, so that nothing is appended meanwhile.
        func remove(_ log: HubLogID) throws(HubLogError) {
            try pool.run("removal of a log") { statements throws(RequestError) in
                let id = PQParameter.bytes(log.littleEndianBytes)
                try statements.request(PostgreSQLSchema.removeShards, [id])
                let count = PQParameter.number(UInt64(PostgreSQLLimits.trimmedEntries))
                while try statements.request(PostgreSQLSchema.removeMessages, [id, count])
                    .changedRowCount > 0
                {}
            }
        }
    }
#endif
