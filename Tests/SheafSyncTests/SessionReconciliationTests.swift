import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport
import Testing

/// Tests of a session that compares its documents with those of a peer, against their difference.
struct SessionReconciliationTests {
    private let seed = UInt64.random(in: 0..<1_000_000_000)

    init() { print("reconciling sessions, seed \(seed)") }

    private static func address(_ number: Int) -> DocumentAddress {
        DocumentAddress(collection: "c", id: [0x40, UInt8(number >> 8), UInt8(number & 0xFF), 0])
    }

    /// The documents that a session wants, and how it names them.
    private struct Wanted {
        /// The documents of each part, and the last ones.
        var parts: [[DocumentAddress]] = []
        var last: [DocumentAddress] = []
        var versions: [UInt64] = []
        var ranges: [KeyRange] = []
        var reported: [DocumentAddress] = []
        var isComplete = false
    }

    /// A session that reconciles, and the answers of its peer.
    private struct Scene {
        private var peer = OpenSession()
        private var segments = ShippedSegmentWriter()
        private var responder: RangeResponder
        private(set) var wanted = Wanted()
        private var effects: [SyncSession.Effect] = []

        init(
            own: [DocumentVersion], other: [DocumentVersion], most: Int, reportsDifferences: Bool,
            isRanked: Bool
        ) {
            responder = RangeResponder(VersionList(sorted: other))
            peer.session.subscribe(Subscribe(generation: 1, [], at: 0))
            _ = peer.session.drainEffects()
            peer.session.compare(
                with: VersionList(sorted: own), most: most,
                reportsDifferences: reportsDifferences, isRanked: isRanked)
            effects = peer.session.drainEffects()
        }

        /// Answers all requests of the session.
        mutating func run() throws {
            while !effects.isEmpty {
                let effect = effects.removeFirst()
                if case .differing(let addresses) = effect { wanted.reported += addresses }
                for frame in OpenSession.frames(in: [effect]) {
                    try #require(!wanted.isComplete)
                    try answer(frame)
                }
                if case .end(let message) = effect { Issue.record("\(message.text)") }
            }
        }

        private mutating func answer(_ frame: Frame) throws {
            try #require(frame.body.first == 1)
            if frame.type == .ask {
                let question = try frame.body.dropFirst().withUnsafeBytes {
                    try RangeQuestion(decoding: $0)
                }
                let answer = try responder.answer(question)
                effects += peer.receive(.answer, [1] + answer.bytes)
                return
            }
            try #require(frame.type == .want)
            switch try frame.body.withUnsafeBytes({ try Want(decoding: $0) }).documents {
            case .all: wanted.isComplete = true
            case .some(let addresses, let isContinued):
                wanted.last += addresses
                wanted.isComplete = !isContinued
            case .versions(let versions): wanted.versions += versions
            case .ranges(let ranges): wanted.ranges += ranges
            case .part(let addresses):
                // Nothing follows before the end of the part.
                #expect(OpenSession.frames(in: effects).isEmpty)
                wanted.parts.append(addresses)
                var commits = CommitWriter()
                commits.begin(7, stamp: nil, isCut: true, endsPart: true)
                commits.end(isContinued: false)
                effects += peer.receive(.segment, [1, 0] + segments.bytes(of: [0] + commits.bytes))
            }
        }
    }

    /// Two lists with random differences, and the numbers of the documents that differ.
    private func lists(
        _ random: inout SeededRandom
    ) -> (own: [DocumentVersion], other: [DocumentVersion], differing: Set<Int>) {
        var (own, other): ([DocumentVersion], [DocumentVersion]) = ([], [])
        var differing: Set<Int> = []
        let share = [0, 2, 30, 100][random.below(4)]
        for number in 0..<1 + random.below(400) {
            let document = DocumentVersion(id: Self.address(number).bytes, version: random.next())
            let changed = DocumentVersion(id: document.id, version: random.next())
            let kind = random.below(100) < share ? 1 + random.below(3) : 0
            if kind > 0 { differing.insert(number) }
            if kind != 1 { own.append(document) }
            if kind != 2 { other.append(kind == 3 ? changed : document) }
        }
        return (own, other, differing)
    }

    @Test func `each differing document is wanted once, in parts of at most the given number`()
        throws
    {
        var random = SeededRandom(seed: seed, "parts")
        for run in 0..<30 {
            let (own, other, differing) = lists(&random)
            let (reports, isRanked) = (random.chance(1, in: 2), random.chance(1, in: 2))
            // All versions of a sketch are named at once.
            let most = (reports ? 1 : 4_095) + random.below(20)
            var scene = Scene(
                own: own, other: other, most: most, reportsDifferences: reports,
                isRanked: isRanked)
            try scene.run()
            let wanted = scene.wanted
            let comment: Comment = "run \(run), seed \(seed)"
            guard !own.isEmpty else {
                #expect(wanted.isComplete && wanted.last.isEmpty, comment)
                continue
            }
            let named = wanted.parts.flatMap { $0 } + wanted.last
            #expect(named.count == Set(named).count, comment)
            let byVersion = other.filter { wanted.versions.contains($0.version) }.map(\.id)
            let inRanges = other.map(\.id).filter { id in
                wanted.ranges.contains { $0.contains(id) }
            }
            let found = Set(named.map(\.bytes) + byVersion + inRanges)
            #expect(found == Set(differing.map { Self.address($0).bytes }), comment)
            #expect(wanted.parts.allSatisfy { $0.count <= most && !$0.isEmpty }, comment)
            #expect(wanted.last.count <= most && wanted.isComplete, comment)
            #expect(wanted.reported == (reports ? named : []), comment)
            if reports { #expect(wanted.versions.isEmpty, comment) }
            if reports || isRanked { #expect(wanted.ranges.isEmpty, comment) }
        }
    }

    @Test func `own documents beyond a part follow in further parts, in order`() throws {
        let own = (1...10).map {
            DocumentVersion(id: Self.address($0).bytes, version: UInt64($0))
        }
        for (most, parts) in [(4, [4, 4]), (5, [5]), (9, [9]), (10, [])] as [(Int, [Int])] {
            var scene = Scene(
                own: own, other: [], most: most, reportsDifferences: true, isRanked: false)
            try scene.run()
            #expect(scene.wanted.parts.map(\.count) == parts)
            let named = scene.wanted.parts.flatMap { $0 } + scene.wanted.last
            #expect(named == (1...10).map(Self.address))
        }
    }
}
