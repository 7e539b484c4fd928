package import SheafStorage

/// Small stores with everything in them that a store can have.
package enum SmallStore {
    /// What a store holds after all: the model that it is compared with.
    package struct Content {
        package init() {}

        package var payloads: [String: String] = [:]
        package var lastCommit: CommitID = 0
    }

    /// Options under which a few commits fill a segment and a few segments can be folded.
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

    /// A store of several segments, a base file and a checkpoint, closed.
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
        return (volume.snapshotFiles(), content)
    }

    /// One commit of a put or two, and now and then a removal or an extension.
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
        let extended = "key\((number + 4) % 7)"
        if number % 5 < 2, let before = content.payloads[extended] {
            try batch.extend(Array(extended.utf8), Array("+\(number)".utf8))
            content.payloads[extended] = before + "+\(number)"
        }
        content.lastCommit = try engine.append(batch)
        try engine.flush()
    }

    /// What an opening of these files finds, or the error that refuses it; where a key stands on
    /// several payloads, they are joined.
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
