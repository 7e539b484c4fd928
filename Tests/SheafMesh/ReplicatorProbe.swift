import SheafAttachments
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import SheafTransport

/// A fuzz target that passes arbitrary frames to a peer after a valid hello.
///
/// The numbers and checksums of the frames are valid.
///
/// The peer has a store with hidden and visible documents, files and rights, so the input reaches
/// all code that a remote peer can reach.
package final class ReplicatorProbe {
    private let store: StoreEngine
    private let queries: QueryEngine
    private let replicator: Replicator
    private var frames = FrameWriter()
    private var segments = ShippedSegmentWriter()
    private var scanner: MarkScanner
    private var jobs: [WriteJob] = []
    private let writesLate: Bool
    private var hasWritten = false
    private var now: UInt64 = 1_000_000_000
    private var wrong: String?
    /// Whether the last frame was a close message, whose reason the other side chooses.
    private var hasEnded = false

    /// Runs an input; returns a description of the peer's misbehavior, or nil.
    ///
    /// The bits of the first byte select the properties of the peer. Each frame follows as a type,
    /// a length of two bytes, and a body; the body of a segment is its commits, unless 128 is added
    /// to the type. A site of 0 in `lostWrite` is replaced with the peer's site.
    package static func read(_ input: UnsafeRawBufferPointer) throws -> String? {
        guard let first = input.first else { return nil }
        let probe = try ReplicatorProbe(first)
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: input.dropFirst()))
        try probe.greet()
        while reader.remaining >= 3, probe.wrong == nil {
            let (type, length) = (try reader.readUInt8(), Int(try reader.readUInt16()))
            try probe.send(type, Array(try reader.readBytes(min(length, reader.remaining))))
        }
        try probe.end()
        return probe.wrong
    }

    private init(_ kind: UInt8) throws {
        var options = LogStoreOptions()
        options.runsMaintenance = false
        options.segmentLength = 16_000
        options.clock = FakeClock().clock
        let source = SeededSource(seed: UInt64(kind))
        options.random = { source.next() }
        store = try StoreEngine(opening: SimulatedVolume(seed: 1), options: options)
        queries = try QueryEngine(opening: store)
        if kind & 8 == 0 {
            _ = try queries.execute(
                try Parser.parse("ALTER SYSTEM SET dql_restrict_subscriptions = false"))
        }
        let attachments = AttachmentStore(in: MemoryVolume())
        var limits = ReplicatorLimits()
        (limits.part, limits.inMemory) = (300, 1_000)
        if kind & 16 != 0 { limits.evaluated = 100 }
        replicator = Replicator(
            queries,
            Replicator.Identity(
                database: MeshPeer.database, peerKey: Array(repeating: 1, count: 32)),
            attachments: attachments, limits: limits, random: { source.next() })
        let hasRights = kind & 1 != 0
        writesLate = kind & 2 != 0
        scanner = MarkScanner(allowing: hasRights ? [] : nil, receivesOwnFrames: true)
        _ = try attachments.add(Array(repeating: 7, count: 300))
        try fill()
        if kind & 4 != 0 { try subscribe() }
        let rights = PeerRights(
            read: ["cars": "color = 'red'", "graffiti": "true"],
            write: ["cars": "color = 'red'", "graffiti": "true"])
        replicator.connect(1, rights: hasRights ? rights : nil, at: now)
    }

    private func fill() throws {
        var changes: [DocumentChange] = []
        for number in 0..<12 {
            let isOpen = number % 3 > 0
            let mark = isOpen ? "open" : MarkScanner.mark("nobody")
            let car: Object = [
                "color": isOpen ? "red" : "blue", "text": .string(mark),
                "n": .integer(Int64(number)),
            ]
            changes.append(
                DocumentChange(
                    "cars", .string("\(mark)\(number)"), .insert(car, onConflict: .merge)))
        }
        _ = try queries.documents.commit(changes) { batch throws(StorageError) in
            try store.append(batch)
        }
        while try store.flush() {}
        replicator.processPublished()
    }

    private func subscribe() throws {
        try replicator.subscribe(
            ["cars", "graffiti"].map { name in
                let query = DQL(verbatim: "SELECT * FROM \(name)")
                return try SubscriptionQuery(
                    try queries.statement(query), ArgumentValues(), queries)
            })
    }

    private func greet() throws {
        let hello = Hello(
            database: MeshPeer.database, peerKey: Array(repeating: 2, count: 32),
            site: Site(rawValue: 2), log: .init(low: 3, high: 4), nonce: 1, wallMilliseconds: 1,
            isServer: false,
            name: "")
        try receive(frames.bytes(of: Frame(.hello, hello.bytes)))
    }

    private func send(_ head: UInt8, _ body: [UInt8]) throws {
        guard let type = FrameType(rawValue: head & 0x7F) else {
            return try receive([head] + body)
        }
        hasEnded = type == .close
        if type == .lostWrite, body.starts(with: [UInt8](repeating: 0, count: 8)) {
            return try receive(frames.bytes(of: Frame(type, ownSite + body.dropFirst(8))))
        }
        guard type == .segment, head < 0x80 else {
            return try receive(frames.bytes(of: Frame(type, body)))
        }
        try receive(frames.bytes(of: Frame(.segment, [1, 0] + segments.bytes(of: body))))
    }

    private var ownSite: [UInt8] {
        var writer = ByteWriter()
        writer.write(queries.documents.site.rawValue)
        return writer.bytes
    }

    private func receive(_ bytes: [UInt8]) throws {
        now += 400_000_000
        if writesLate { try write() }
        bytes.withUnsafeBytes { replicator.receive($0, on: 1, at: now) }
        try perform()
        replicator.tick(at: now)
        try perform()
    }

    private func perform() throws {
        var rounds = 0
        while wrong == nil {
            let effects = replicator.drainEffects()
            guard !effects.isEmpty || !writesLate && !jobs.isEmpty else { return }
            rounds += 1
            guard rounds < 1_000 else {
                wrong = "the peer never runs out of effects"
                return
            }
            for effect in effects { try take(effect) }
            if !writesLate { try write() }
        }
    }

    private func take(_ effect: Replicator.Effect) throws {
        switch effect {
        case .send(_, let bytes):
            if let mark = try scanner.read(bytes) {
                wrong = "a frame has a document that is hidden: \(mark)"
            }
        case .close(_, let closeMessage):
            if closeMessage.code == .failed, !hasEnded {
                wrong = "the peer failed: \(closeMessage.text)"
            }
        case .write(let job): jobs.append(job)
        case .hub, .fetched, .statusChanged, .presenceChanged, .ended, .keyContested, .clockWarning,
            .refusalsChanged:
            break
        }
    }

    private func write() throws {
        while !jobs.isEmpty {
            let job = jobs.removeFirst()
            hasWritten = true
            let outcome = job.run(queries) { batch throws(StorageError) in try store.append(batch) }
            while try store.flush() {}
            replicator.handleOutcome(outcome)
            replicator.processPublished()
        }
    }

    private func end() throws {
        try write()
        try perform()
        replicator.disconnect(1)
        try perform()
        // All written documents must be readable.
        guard hasWritten else { return }
        let query = DQL(verbatim: "SELECT * FROM cars")
        let all = try SubscriptionQuery(try queries.statement(query), ArgumentValues(), queries)
        _ = try queries.documents.snapshot().spelledContents(
            matching: SubscriptionMatcher([all], queries))
    }
}
