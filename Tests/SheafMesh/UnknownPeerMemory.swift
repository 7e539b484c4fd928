import SheafAttachments
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafReplication
import SheafStatements
package import SheafStorage
import SheafSync

/// Attacks by a remote peer that make a peer use as much memory as possible.
///
/// The attacker sends up to the limits, and never the frames that would release the memory.
package enum UnknownPeerMemory {
    /// The kinds of attacks.
    package enum Flood: String, CaseIterable, Sendable {
        case manyDocuments, longDocuments, longBatches, wants, announcements, ranges, subscriptions,
            files
    }

    /// Runs up to `frames` attack steps on a peer in `volume`; returns its close reason, or nil.
    package static func run(_ flood: Flood, in volume: any Volume, frames: Int) throws -> String? {
        let scene = try FloodScene(flood, volume)
        var number = 0
        while number < frames, scene.closeMessage == nil {
            try scene.send(number)
            number += 1
        }
        return scene.closeMessage?.text
    }
}

/// A peer without a thread, and an attacker that never finishes.
private final class FloodScene {
    private let flood: UnknownPeerMemory.Flood
    private let queries: QueryEngine
    private let replicator: Replicator
    private var frames = FrameWriter()
    /// The frame sent repeatedly; building it each time would count as memory of the peer.
    private var segment: [UInt8] = []
    private var reader = FrameReader(limit: SyncLimits.frameLength)
    private var questions: [RangeQuestion] = []
    private var now: UInt64 = 1_000_000_000
    private(set) var closeMessage: CloseMessage?
    private var responder: RangeResponder

    init(_ flood: UnknownPeerMemory.Flood, _ volume: any Volume) throws {
        self.flood = flood
        var options = LogStoreOptions()
        options.runsMaintenance = false
        let store = try StoreEngine(opening: volume, options: options)
        queries = try QueryEngine(opening: store)
        var count: UInt64 = 0
        replicator = Replicator(
            queries,
            Replicator.Identity(
                database: MeshPeer.database, peerKey: Array(repeating: 1, count: 32)),
            attachments: AttachmentStore(in: MemoryVolume())
        ) {
            count += 1
            return count
        }
        if [.manyDocuments, .longDocuments, .longBatches].contains(flood) {
            segment = try Self.segment(flood)
        }
        let versionCount = flood == .ranges ? 1_000_000 : 0
        responder = RangeResponder(
            VersionList(
                sorted: (0..<versionCount).map { index in
                    DocumentVersion(id: Self.address(index).bytes, version: 7)
                }))
        if flood == .ranges {
            let car = DocumentChange("cars", .string("own"), .insert(["n": 1], onConflict: .merge))
            _ = try queries.documents.commit([car]) { batch throws(StorageError) in
                try store.append(batch)
            }
            while try store.flush() {}
        }
        replicator.processPublished()
        let query = DQL(verbatim: "SELECT * FROM cars")
        replicator.subscribe([
            try SubscriptionQuery(try queries.statement(query), ArgumentValues(), queries)
        ])
        replicator.connect(1, at: now)
        let hello = Hello(
            database: MeshPeer.database, peerKey: Array(repeating: 2, count: 32),
            site: Site(rawValue: 2), log: .init(low: 3, high: 4), nonce: 1, wallMilliseconds: 1,
            isServer: false,
            name: "")
        try receive(.hello, hello.bytes)
    }

    private static func address(_ number: Int) -> DocumentAddress {
        let digits = String(number)
        let padded = String(repeating: "0", count: 8 - digits.count) + digits
        return DocumentAddress(
            collection: "cars", id: [0x40] + Array(padded.utf8) + [0])
    }

    func send(_ number: Int) throws {
        switch flood {
        case .manyDocuments, .longDocuments, .longBatches: try receive(.segment, segment)
        case .wants:
            if number == 0 { try subscribe(1) }
            let some = (0..<40_000).map { Self.address(number * 40_000 + $0) }
            try receive(.want, Want(generation: 1, .some(some, isContinued: true)).bytes)
        case .announcements:
            let entries = (0..<40_000).map {
                Announce.Entry(address: Self.address($0), vector: VersionVector())
            }
            try receive(
                .announce, Announce(generation: 1, commit: UInt64(number + 9), entries).bytes)
        case .ranges:
            guard !questions.isEmpty else { return }
            let answer = try responder.answer(questions.removeFirst())
            try receive(.answer, [1] + answer.bytes)
        case .subscriptions: try subscribe(UInt64(number + 1))
        case .files:
            for index in 0..<100 {
                let id = Array(String(100_000 + number * 100 + index).utf8)
                let padded = id + [UInt8](repeating: 7, count: 32 - id.count)
                try receive(.seek, Seek(id: padded, hops: 8).bytes)
                try receive(.offer, Offer(id: padded, length: 1 << 30).bytes)
            }
        }
    }

    /// Returns a segment of documents; only that of `longBatches` ends its batch.
    ///
    /// The field names of the documents are not resolved before the end of their batch.
    private static func segment(_ flood: UnknownPeerMemory.Flood) throws -> [UInt8] {
        let isLong = flood != .manyDocuments
        let document = try Insertion.initial(
            ["a": .string(String(repeating: "a", count: isLong ? 14 << 20 : 1))], NameTable())
        var writer = CommitWriter()
        writer.begin(9, stamp: nil)
        for index in 0..<(isLong ? 1 : 60_000) {
            address(index).id.withUnsafeBytes { id in
                document.withUnsafeBytes { writer.add("cars", id: id, .state, $0) }
            }
        }
        writer.end(isContinued: flood != .longBatches)
        var segments = ShippedSegmentWriter()
        return [1, 0] + segments.bytes(of: [0] + writer.bytes)
    }

    private func subscribe(_ generation: UInt64) throws {
        let text =
            "SELECT * FROM cars WHERE n = :n OR '" + String(repeating: "a", count: 3_000) + "' = s"
        let arguments = try Insertion.initial(["n": 1], NameTable())
        let queries = (0..<200).map { number in
            SubscribedQuery(text: text + " OR n = \(number)", arguments: arguments)
        }
        for part in Subscribe(generation: generation, queries, at: 0).parts {
            try receive(.subscribe, part.bytes)
        }
    }

    private func receive(_ type: FrameType, _ body: [UInt8]) throws {
        now += 1_000_000
        let bytes = frames.bytes(of: Frame(type, body))
        bytes.withUnsafeBytes { replicator.receive($0, on: 1, at: now) }
        while true {
            let effects = replicator.drainEffects()
            if effects.isEmpty { break }
            for effect in effects {
                switch effect {
                case .send(_, let bytes): try record(bytes)
                case .close(_, let closeMessage): self.closeMessage = closeMessage
                case .write, .hub, .fetched, .statusChanged, .presenceChanged, .ended,
                    .keyContested,
                    .refusalsChanged,
                    .clockWarning:
                    break
                }
            }
        }
        replicator.tick(at: now)
    }

    private func record(_ bytes: [UInt8]) throws {
        bytes.withUnsafeBytes { reader.append($0) }
        while let frame = try reader.next() {
            guard frame.type == .ask, flood == .ranges else { continue }
            try frame.body.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
                questions.append(try RangeQuestion(decoding: rest))
            }
        }
    }
}
