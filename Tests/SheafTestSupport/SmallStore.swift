package import SheafStorage

/// Small stores that exercise every structure of the format.
package enum SmallStore {
    /// Expected content of a store.
    package struct Content {
        package init() {}

        package var payloads: [String: String] = [:]
        package var lastCommit: CommitID = 0
    }

    /// Returns options with which a few commits fill a segment.
    package static func options(seed: UInt64) -> LogStoreOptions {
        var options = LogStoreOptions()
        options.segmentLength = 704
        options.checkpointLength = 1 << 30
        options.history = HistoryHorizon(commits: 6, bytes: 1 << 30)
        options.clock = FakeClock().clock
        let random = SeededSource(seed: seed)
        options.random = { random.next() }
        return options
    }

    /// Creates a closed store with several segments, a base file and a checkpoint.
    package static func small(seed: UInt64) throws -> (files: [String: [UInt8]], content: Content) {
        let volume = SimulatedVolume(seed: seed)
        let engine = try StoreEngine(opening: volume, options: options(seed: seed))
        var content = Content()
        for number in 1...12 { try commit(number, to: engine, &content) }
        engine.compactEverything()
        while try engine.compactionStep() {}
        try engine.writeCheckpoint()
        for number in 13...18 { try commit(number, to: engine, &content) }
        try engine.close()
        var files = volume.snapshotFiles()
        // The mark of the simulated system is no part of the store.
        files[FileName.syncedName] = nil
        return (files, content)
    }

    /// Commits one or two puts, sometimes with a removal or a delta record.
    package static func commit(
        _ number: Int, to engine: StoreEngine, _ content: inout Content
    ) throws {
        var batch = WriteBatch()
        let key = "key\(number % 7)"
        let payload = "payload \(number) " + String(repeating: "x", count: number % 5 * 7)
        try batch.put(Array(key.utf8), Array(payload.utf8))
        content.payloads[key] = payload
        if number % 3 == 0 {
            let other = "key\((number + 2) % 7)"
            try batch.remove(Array(other.utf8))
            content.payloads[other] = nil
        }
        if number % 4 == 0 {
            try batch.put(Array("other\(number)".utf8), Array("o\(number)".utf8))
            content.payloads["other\(number)"] = "o\(number)"
        }
        let deltaKey = "key\((number + 4) % 7)"
        if number % 5 < 2, let before = content.payloads[deltaKey] {
            try batch.extend(Array(deltaKey.utf8), Array("+\(number)".utf8))
            content.payloads[deltaKey] = before + "+\(number)"
        }
        content.lastCommit = try engine.append(batch)
        try engine.flush()
    }

    /// Opens a store and returns the payload of each key, with delta records appended.
    package static func payloads(in volume: any Volume) throws -> [String: String] {
        let engine = try StoreEngine(opening: volume)
        defer { try? engine.close() }
        let snapshot = engine.snapshot()
        var payloads: [String: String] = [:]
        try snapshot.tree.forEach(in: snapshot.keys) { key, value throws(StorageError) in
            let operations = try snapshot.operations(of: key).reversed()
            payloads[String(decoding: key, as: UTF8.self)] = operations.reduce("") {
                $0 + String(decoding: $1.operation.payload, as: UTF8.self)
            }
            return true
        }
        return payloads
    }
}
