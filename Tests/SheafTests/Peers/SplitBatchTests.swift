import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Batches of a first sync, which are divided by the lengths of their documents.
struct SplitBatchTests {
    /// A number of bytes, in addition to the lengths of the first two documents a number of times.
    struct Length: Sendable {
        private let pairs: Int
        private let bytes: Int

        init(_ pairs: Int, _ bytes: Int) { (self.pairs, self.bytes) = (pairs, bytes) }

        func count(_ pair: Int) -> Int { pairs * pair + bytes }
    }

    /// Limits on the lengths of parts and batches.
    struct Division: Sendable {
        let part: Length
        /// Limits of the first batch, of further ones, and of all.
        let first: Length
        let further: Length
        let step: Length

        func limits(_ pair: Int) -> ReplicatorLimits {
            var limits = ReplicatorLimits()
            (limits.part, limits.completeStep) = (part.count(pair), first.count(pair))
            (limits.furtherStep, limits.step) = (further.count(pair), step.count(pair))
            return limits
        }
    }

    private static let one = Length(0, 1)
    private static let long = Length(0, 1 << 20)
    private static let divisions = [
        Division(part: one, first: Length(1, 0), further: Length(1, 0), step: long),
        Division(part: one, first: Length(1, -1), further: Length(1, -1), step: long),
        Division(part: Length(1, 0), first: Length(1, 0), further: Length(0, 0), step: long),
        Division(part: Length(1, 1), first: Length(1, 1), further: Length(2, 0), step: long),
        Division(part: one, first: Length(0, 0), further: Length(0, 0), step: long),
        Division(part: one, first: long, further: Length(0, 0), step: Length(1, 0)),
        Division(part: one, first: long, further: long, step: Length(1, -1)),
        Division(part: Length(3, 0), first: long, further: long, step: long),
    ]

    /// Returns the batches in which a sender must divide documents of the given lengths.
    private func batches(
        _ ids: [String], _ lengths: [Int], _ limits: ReplicatorLimits, isCounted: Bool
    ) -> [String] {
        var lines: [String] = []
        var (next, unsplit, isSplit) = (0, 0, false)
        while true {
            let most = min(isSplit ? limits.furtherStep : limits.completeStep, limits.step)
            let isCut = unsplit > most
            let first = next
            var length = 0
            while next < ids.count, length < limits.part {
                length += lengths[next]
                next += 1
            }
            let isDone = next == ids.count
            let end = isCut ? "cut, " : isDone ? "" : "continued, "
            let remaining = isCounted ? max(ids.count - first, 1) : 0
            let words = ["0:"] + Array(ids[first..<next]) + ["(\(end)of \(remaining))"]
            lines.append(words.joined(separator: " "))
            if isDone, !isCut { return lines }
            (unsplit, isSplit) = isCut ? (0, true) : (unsplit + length, isSplit)
        }
    }

    // MARK: Parts

    private let ids = (0..<9).map { "c\($0)" }

    /// Returns the batches for a peer; with limited rights, it may not read one of the documents.
    private func transcript(
        _ limits: ReplicatorLimits, isLimited: Bool
    ) throws -> SentTranscript {
        let scene = try DocumentScene(2, limits)
        var cars = ids.map { "({'_id': '\($0)', 'n': 0})" }
        if isLimited { cars.insert("({'_id': 'c4 hidden', 'n': 9})", at: 5) }
        try scene.execute(
            0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(cars.joined(separator: ", "))"))
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let rights = PeerRights(read: ["cars": "n < 5"], write: [:])
        let sent = try scene.connectRecorded(0, 1, rightsOfRight: isLimited ? rights : nil).sent
        try scene.run()
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
        #expect(try scene.rows(1, "SELECT * FROM cars").count == 9)
        return sent
    }

    /// Checks that the parts for a limited peer do not depend on the time that an iteration takes.
    @Test(arguments: divisions, [false, true])
    func `a first sync is divided by the lengths of the documents alone`(
        _ division: Division, _ isLimited: Bool
    ) throws {
        let undivided = try transcript(ReplicatorLimits(), isLimited: isLimited)
        let all = ids.joined(separator: " ")
        #expect(undivided.texts == ["\(all) (of \(isLimited ? 0 : 9))"])
        let lengths = undivided.lengths
        try #require(lengths.count == 9)
        var limits = division.limits(lengths[0] + lengths[1])
        let expected = batches(ids, lengths, limits, isCounted: !isLimited)
        for units in isLimited ? [limits.evaluated, 60] : [limits.evaluated] {
            limits.evaluated = units
            let sent = try transcript(limits, isLimited: isLimited)
            let first = try #require(sent.numbers.first)
            #expect(sent.lines(after: first) == expected, "\(units) units in each iteration")
            #expect(sent.lengths == lengths)
        }
    }

    // MARK: Newer commits

    /// Returns peers and the batches to the second one, which has received the first part.
    private func begin(
        _ limits: ReplicatorLimits, _ query: String = "SELECT * FROM cars WHERE n < 5",
        _ rights: PeerRights? = nil
    ) throws -> (DocumentScene, SentTranscript) {
        let scene = try DocumentScene(2, limits)
        let cars = ["a", "b", "c", "d", "e"].map { "({'_id': '\($0)', 'n': 0})" }
        try scene.execute(
            0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(cars.joined(separator: ", "))"))
        try scene.subscribe(1, [query])
        let sent = try scene.connectRecorded(0, 1, rightsOfRight: rights).sent
        for _ in 0..<1_000 where sent.numbers.isEmpty { try scene.run(steps: 1) }
        return (scene, sent)
    }

    /// Changes documents, and returns the numbers of the commits relative to the newest one.
    private func change(_ scene: DocumentScene) throws -> [UInt64] {
        let statements: [DQL] = [
            "INSERT INTO cars DOCUMENTS ({'_id': 'z', 'n': 1}), ({'_id': 'y', 'n': 9})",
            "UPDATE cars SET n = 7 WHERE _id = 'a'",
            "DELETE FROM cars WHERE _id = 'b'",
            "INSERT INTO boats DOCUMENTS ({'_id': 'w', 'n': 1})",
            "INSERT INTO cars DOCUMENTS ({'_id': 'x', 'n': 2})",
            "DELETE FROM cars WHERE _id = 'x'",
            "UPDATE cars SET n = 3 WHERE _id = 'z'",
            "UPDATE cars SET n = 10 WHERE _id = 'y'",
        ]
        let before = scene.nodes[0].newestCommit
        var numbers: [UInt64] = []
        for statement in statements {
            try scene.nodes[0].store.execute(statement)
            numbers.append(scene.nodes[0].newestCommit - before)
        }
        return numbers
    }

    /// The early batch has the newest states of documents that match, or matched before.
    @Test(arguments: [0, 1])
    func `newer states are sent within a first sync up to the length of a further batch`(
        _ missing: Int
    ) throws {
        let (other, known) = try begin(ReplicatorLimits())
        #expect(known.texts == ["a b c d e (of 0)"])
        _ = try change(other)
        let snapshot = other.nodes[0].store.queries.documents.snapshot()
        var length = 0
        for id in ["z", "a", "b"] {
            let key = try #require(try snapshot.key(collection: "cars", id: .string(id)))
            let document = try #require(try snapshot.document(key))
            length += document.read { $0.count }
        }
        var limits = ReplicatorLimits()
        (limits.part, limits.completeStep, limits.furtherStep) = (1, 0, length - missing)
        let (scene, sent) = try begin(limits)
        let base = scene.nodes[0].newestCommit
        #expect(sent.lines(after: base) == ["0: a (continued, of 0)"])
        let numbers = try change(scene)
        try scene.published(0)
        try scene.run()
        var expected = batches(["a", "b", "c", "d", "e"], known.lengths, limits, isCounted: false)
        #expect(expected[1] == "0: b (cut, of 0)")
        if missing == 0 { expected.insert("0: z a b (cut)", at: 2) }
        for (number, id) in [(0, "z"), (1, "a"), (2, "b"), (4, "x"), (5, "x"), (6, "z")] {
            expected.append("\(numbers[number]): \(id) (stamped)")
        }
        expected.append("\(numbers[7]):")
        #expect(sent.lines(after: base) == expected)
    }

    /// Inserts a document after the first part of other ones.
    @Test(arguments: [false, true])
    func `a commit during a first sync of a ranking or of a limited peer follows it`(
        _ isLimited: Bool
    ) throws {
        let query = isLimited ? "SELECT * FROM cars" : "SELECT * FROM cars ORDER BY n LIMIT 9"
        let rights = isLimited ? PeerRights(read: ["cars": "true"], write: [:]) : nil
        let (_, known) = try begin(ReplicatorLimits(), query, rights)
        #expect(known.texts == ["a b c d e (of \(isLimited ? 0 : 5))"])
        var limits = ReplicatorLimits()
        (limits.part, limits.completeStep) = (1, 0)
        let (scene, sent) = try begin(limits, query, rights)
        let first = try #require(sent.numbers.first)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'z', 'n': 1})")
        try scene.run()
        let expected = batches(
            ["a", "b", "c", "d", "e"], known.lengths, limits, isCounted: !isLimited)
        #expect(
            sent.lines(after: first) == expected + [isLimited ? "1: z" : "1: z (of 0)"])
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
    }

    /// Fills a part of a batch over several iterations, then makes the peers reconcile.
    @Test(arguments: [6, 8, 10, 14, 18])
    func `an unfinished part is discarded when the peers reconcile`(_ steps: Int) throws {
        var limits = ReplicatorLimits()
        (limits.evaluated, limits.limitedChanges) = (60, 4)
        let scene = try DocumentScene(2, limits)
        let cars = ids.map { "({'_id': '\($0)', 'n': 0})" }
        try scene.execute(
            0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(cars.joined(separator: ", "))"))
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let rights = PeerRights(read: ["cars": "true"], write: [:])
        let sent = try scene.connectRecorded(0, 1, rightsOfRight: rights).sent
        for _ in 0..<100 where !scene.nodes[1].sent.contains(.want) { try scene.run(steps: 1) }
        try scene.run(steps: steps)
        try scene.execute(0, "UPDATE cars SET n = 1 WHERE _id < 'c5'")
        for _ in 0..<3 { try scene.advance(milliseconds: 1_000) }
        // Each changed document is sent in a single batch after the peers have reconciled.
        let restart = try #require(sent.texts.lastIndex(of: "restart "))
        let found = sent.texts[(restart + 1)...].flatMap { $0.split(separator: " ") }
        for id in ids.prefix(5) {
            #expect(found.count { $0 == id } == 1, "\(id) in \(sent.texts)")
        }
        #expect(try scene.checksums() == 1)
    }
}
