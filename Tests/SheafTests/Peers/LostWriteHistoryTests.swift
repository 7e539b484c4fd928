import Sheaf
import SheafDocument
import SheafStatements
import SheafTestSupport
import Testing

/// Random histories of a store that is rolled back, and of peers that know its pause.
struct LostWriteHistoryTests {
    private let cars = "SELECT * FROM cars"
    private let all: DQL = "SELECT * FROM cars"

    @Test(arguments: 0..<4)
    func `peers agree after a rollback, and no addition counts twice`(_ group: UInt64) throws {
        let start = UInt64.random(in: 0..<1_000_000_000)
        print("lost-write histories, seeds from \(start), group \(group)")
        for seed in start..<(start + 24) {
            var history = try History(seed: seed, peers: 4, hasRemovals: group % 2 == 1)
            try history.run()
            try history.converge()
            let scene = history.scene
            let rows = try (0..<4).map { try scene.rows($0, all) }
            let contents = try Set((0..<4).map { try scene.content(of: $0) })
            let name = "seed \(seed) of group \(group): \(history.steps)"
            #expect(contents.count == 1, "\(rows), \(name)")
            #expect(history.mistakes == [], "\(name)")
        }
    }

    /// Sends the store the write that replaced its own, before it draws another site.
    @Test func `peers agree when a write is replaced before its store draws another site`() throws {
        let scene = try DocumentScene(4)
        for number in 1...3 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        for number in 1...3 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        for number in 2...3 { try scene.disconnectAll(of: number) }
        try scene.write(0, "a", "lost")
        try scene.disconnectAll(of: 0)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.advance(milliseconds: 1)
        try scene.execute(0, "UPDATE cars SET v = 1")
        try scene.connectAndRun(0, 2)
        try scene.connectAndRun(0, 3)
        try scene.disconnectAll(of: 0)
        try scene.advance(milliseconds: 1)
        try scene.execute(2, "UPDATE cars SET v = 2")
        try scene.subscribe(0, [cars])
        try scene.connectAndRun(2, 0)
        try scene.disconnectAll(of: 2)
        try scene.subscribe(0, [])
        for number in 1...3 {
            try scene.connectAndRun(0, number)
            try scene.disconnectAll(of: 0)
        }
        try scene.connectAndRun(2, 3)
        #expect(try scene.content(of: 2) == scene.content(of: 3))
    }

    /// Returns a scene and its backup; only peer 1 has a lost addition of 2, and all have one of 1.
    private func countingScene() throws -> (DocumentScene, SimulatedVolume) {
        let scene = try DocumentScene(3)
        for number in 1...2 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        try scene.count(0, by: 1)
        for number in 1...2 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        try scene.disconnectAll(of: 2)
        try scene.count(0, by: 2)
        try scene.disconnectAll(of: 0)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        return (scene, backup)
    }

    @Test func `a lost addition received after a later one does not count`() throws {
        let (scene, _) = try countingScene()
        try scene.count(0, by: 4)
        try scene.connectAndRun(0, 2)
        try scene.disconnectAll(of: 0)
        try scene.subscribe(1, [])
        try scene.connectAndRun(1, 2)
        #expect(try scene.rows(2, "SELECT n FROM cars") == [#"{"n":5}"#])
    }

    @Test func `a store that is rolled back twice does not count a lost addition`() throws {
        let (scene, backup) = try countingScene()
        try scene.write(0, "a", "new")
        try scene.connectAndRun(0, 2)
        try scene.disconnectAll(of: 0)
        try scene.connectAndRun(2, 1)
        try scene.putBack(0, to: backup.rolledBack(seed: 8))
        try scene.count(0, by: 4)
        try scene.subscribe(0, [cars])
        try scene.subscribe(1, [])
        try scene.connectAndRun(1, 0)
        #expect(try scene.rows(0, "SELECT n FROM cars") == [#"{"n":5}"#])
    }

    /// Removes a counter after one peer has received the document, and before the other does.
    @Test func `peers agree after lost additions to two counters, one of them removed`() throws {
        let scene = try DocumentScene(5)
        for number in 1...4 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        for number in 1...4 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        for number in 2...4 { try scene.disconnectAll(of: number) }
        let both: DQL = "UPDATE cars APPLY f INCREMENT BY 1, g INCREMENT BY 1"
        try scene.advance(milliseconds: 1)
        try scene.execute(0, both)
        try scene.run()
        try scene.disconnectAll(of: 0)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.advance(milliseconds: 1)
        try scene.execute(0, both)
        try scene.connectAndRun(0, 2)
        try scene.disconnectAll(of: 0)
        try scene.subscribe(1, [])
        try scene.connectAndRun(1, 2)
        try scene.disconnectAll(of: 1)
        try scene.execute(0, "UPDATE cars UNSET g")
        for number in [2, 3] {
            try scene.connectAndRun(0, number)
            try scene.disconnectAll(of: 0)
        }
        try scene.connectAndRun(1, 3)
        try scene.disconnectAll(of: 1)
        try scene.connectAndRun(2, 4)
        try scene.connectAndRun(3, 4)
        try scene.connectAndRun(2, 3)
        for _ in 0..<3 { try scene.advance(milliseconds: 500) }
        let rows = try (2...4).map { try scene.rows($0, all) }
        #expect(Set(rows).count == 1, "\(rows)")
        #expect(try Set((2...4).map { try scene.content(of: $0) }).count == 1)
    }

    /// Random steps of stores, of which number 0 is rolled back once.
    private struct History {
        let scene: DocumentScene
        let peers: Int
        let hasRemovals: Bool
        var random: SeededRandom
        var steps: [String] = []
        /// The sum of all additions to each counter.
        var additions: [String: Int] = [:]
        private var count = 0
        /// The content seen for each version vector.
        private var states: [VersionVector: [UInt8]] = [:]
        /// The chance that store 0 receives a batch before all peers connect, in percent.
        private let received: Int
        private(set) var mistakes: [String] = []

        init(seed: UInt64, peers: Int, hasRemovals: Bool) throws {
            random = SeededRandom(seed: seed, "lost-write histories")
            received = [0, 30, 100][random.below(3)]
            scene = try DocumentScene(peers)
            (self.peers, self.hasRemovals) = (peers, hasRemovals)
        }

        mutating func run() throws {
            for number in 0..<peers { try scene.subscribe(number, ["SELECT * FROM cars"]) }
            try scene.write(0, "a", "first")
            for number in 1..<peers {
                try scene.connectAndRun(0, number)
                try scene.disconnectAll(of: 0)
            }
            try write(0)
            for _ in 0..<random.below(3) { try step() }
            let backup = scene.nodes[0].volume.processDeath()
            steps.append("backup")
            for _ in 0...random.below(2) {
                try write(0)
                try send(0, to: 1 + random.below(peers - 1))
            }
            for _ in 0..<random.below(3) { try step() }
            steps.append("restore")
            try scene.putBack(0, to: backup.rolledBack(seed: 7))
            for _ in 0...random.below(2) { try write(0) }
            for _ in 0...random.below(8) { try step() }
        }

        /// Connects each pair of peers three times, after which all must have everything.
        mutating func converge() throws {
            for number in 0..<peers { try scene.subscribe(number, ["SELECT * FROM cars"]) }
            for _ in 0..<3 {
                for left in 0..<peers {
                    for right in (left + 1)..<peers {
                        try scene.connectAndRun(left, right)
                        try scene.disconnectAll(of: left)
                        try check([left, right])
                    }
                }
                try scene.advance(milliseconds: 500)
            }
        }

        private mutating func step() throws {
            if random.below(3) == 0 { return try write(random.below(peers)) }
            let sender = random.below(peers)
            let receiver = (sender + 1 + random.below(peers - 1)) % peers
            guard receiver != 0 || random.below(100) < received else { return }
            try send(sender, to: receiver)
        }

        private mutating func send(_ sender: Int, to receiver: Int) throws {
            steps.append("\(sender)->\(receiver)")
            try scene.subscribe(sender, [])
            try scene.subscribe(receiver, ["SELECT * FROM cars"])
            try scene.connectAndRun(sender, receiver)
            try scene.disconnectAll(of: sender)
            try check([sender, receiver])
        }

        /// Checks peers that have changed.
        private mutating func check(_ changed: [Int]) throws {
            for number in changed {
                for bytes in try scene.content(of: number).values {
                    let vector = try bytes.withUnsafeBytes { try EncodedDocument($0).vector() }
                    if let known = states[vector], known != bytes {
                        mistakes.append("vector of peer \(number) after \(steps.count) steps")
                    }
                    states[vector] = bytes
                }
                let text = try scene.rows(number, "SELECT f, g FROM cars").first
                let row = try text.map { try Value(json: $0) }
                for (counter, additions) in additions {
                    var value = 0
                    if case .object(let sums)? = row, case .integer(let sum)? = sums[counter] {
                        value = max(0, Int(sum))
                    }
                    // Each addition is another power of four, so a double count shows in the sum.
                    guard additions & value != value else { continue }
                    mistakes.append("\(counter) of peer \(number) after \(steps.count) steps")
                }
            }
        }

        private mutating func write(_ number: Int) throws {
            let counter = random.below(2) == 0 ? "f" : "g"
            let text: String
            switch random.below(hasRemovals ? 6 : 4) {
            case 0: text = "UPDATE cars SET v = \(steps.count)"
            case 1: text = "UPDATE cars SET s\(steps.count) = 1"
            case 2, 3:
                text = "UPDATE cars APPLY \(counter) INCREMENT BY \(1 << (2 * count))"
                additions[counter, default: 0] += 1 << (2 * count)
                count += 1
            case 4: text = "UPDATE cars UNSET \(counter)"
            default: text = "UPDATE cars APPLY \(counter) RESTART"
            }
            steps.append("\(number) \(text)")
            try scene.advance(milliseconds: 1)
            try scene.execute(number, DQL(verbatim: text))
            try scene.advance(milliseconds: 1)
            try check([number])
        }
    }
}
