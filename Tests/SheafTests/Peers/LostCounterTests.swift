import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafTestSupport
import Testing

/// Counter additions that a store has lost, at peers that know its pause.
struct LostCounterTests {
    private let cars = "SELECT * FROM cars"
    private let all: DQL = "SELECT * FROM cars ORDER BY _id"

    @Test func `lost additions to counters are kept when later writes arrive through other peers`()
        throws
    {
        let scene = try DocumentScene(4)
        for number in 0...3 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        try scene.count(0, by: 5)
        for number in 1...3 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        for number in [1, 3] { try scene.disconnectAll(of: number) }
        try scene.count(0, by: 3)
        try scene.run()
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.write(0, "a", "new")
        try scene.connectAndRun(0, 1)
        try scene.disconnectAll(of: 0)
        try scene.connectAndRun(1, 3)
        try scene.connectAndRun(3, 2)
        let row = #"{"_id":"a","by3":1,"by5":1,"first":1,"n":8,"new":1}"#
        for number in 1...3 {
            #expect(try scene.rows(number, all) == [row], "peer \(number)")
        }
        try scene.subscribe(0, [cars])
        try scene.connectAndRun(3, 0)
        for number in 0...3 {
            #expect(try scene.rows(number, all) == [row], "peer \(number)")
        }
        try scene.count(0, by: 2)
        // An announced document that does not arrive is requested after 300 ms.
        for _ in 0..<3 { try scene.advance(milliseconds: 500) }
        for number in 0...3 {
            let n = try scene.rows(number, "SELECT n FROM cars")
            #expect(n == [#"{"n":10}"#], "peer \(number)")
        }
    }

    @Test func `later additions to a counter replace lost ones that the store never received back`()
        throws
    {
        let scene = try DocumentScene(3)
        for number in 1...2 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        try scene.execute(
            0, "UPDATE cars SET text = :text", ["text": LongInput.text(scalars: 5_000)])
        try scene.count(0, by: 5)
        for (left, right) in [(0, 1), (0, 2), (1, 2)] { try scene.connectAndRun(left, right) }
        let backup = scene.nodes[0].volume.processDeath()
        try scene.disconnectAll(of: 1)
        try scene.count(0, by: 3)
        try scene.run()
        try scene.disconnectAll(of: 2)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.connectAndRun(0, 1)
        try scene.write(0, "a", "new")
        try scene.disconnectAll(of: 0)
        try scene.count(0, by: 2)
        try scene.connectAndRun(1, 2)
        try scene.connectAndRun(0, 1)
        for _ in 0..<3 { try scene.advance(milliseconds: 500) }
        for number in 1...2 {
            #expect(
                try scene.rows(number, "SELECT n, new FROM cars") == [#"{"n":7,"new":1}"#],
                "peer \(number)")
        }
        let warnings = (1...2).flatMap { scene.nodes[$0].store.messages(.warning) }
        #expect(
            warnings.contains {
                $0.hasPrefix("additions to counters are lost: their store has lost them")
                    && $0.hasSuffix(" collection=cars documents=1 id=\"a\"")
            }, "\(warnings)")
    }

    /// Sends the later write of the store to peer 2 through peer 1, and to peer 3 through peer 2.
    ///
    /// The derived site differs each time: it is lower or higher than the store's.
    @Test(arguments: 1...8)
    func `additions of two stores to a counter that a lost write restarted are kept`(
        _ start: UInt64
    ) throws {
        let scene = try DocumentScene(4)
        try scene.advance(milliseconds: start)
        for number in 0...3 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        for number in 1...3 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        try scene.disconnectAll(of: 1)
        try scene.advance(milliseconds: 1)
        try scene.execute(0, "UPDATE cars APPLY n RESTART WITH 100 SET restarted = 1")
        try scene.run()
        try scene.disconnectAll(of: 0)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.advance(milliseconds: 1)
        try scene.execute(2, "UPDATE cars APPLY n INCREMENT BY 7 UNSET restarted")
        try scene.execute(3, "UPDATE cars APPLY n INCREMENT BY 2")
        try scene.write(0, "a", "new")
        try scene.connectAndRun(0, 1)
        try scene.disconnectAll(of: 0)
        try scene.connectAndRun(1, 2)
        try scene.disconnectAll(of: 1)
        try scene.connectAndRun(2, 3)
        for number in 2...3 {
            #expect(
                try scene.rows(number, all) == [#"{"_id":"a","first":1,"n":109,"new":1}"#],
                "peer \(number)")
        }
    }

    /// Limits the rights of other peers on peer 3, which therefore accepts no pauses.
    @Test func `a peer that knows no pause counts a sum twice until another peer has removed it`()
        throws
    {
        let scene = try DocumentScene(4)
        for number in 1...3 { try scene.subscribe(number, [cars]) }
        func meetLimited(_ number: Int) throws {
            let rights = PeerRights(read: ["cars": "true"], write: ["cars": "true"])
            _ = try scene.connect(number, 3, rightsOfLeft: rights)
            try scene.run()
            try scene.disconnectAll(of: 3)
        }
        try scene.write(0, "a", "first")
        try scene.count(0, by: 5)
        for number in 1...2 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        try scene.disconnectAll(of: 2)
        try scene.count(0, by: 3)
        try scene.run()
        try scene.disconnectAll(of: 0)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.write(0, "a", "new")
        try scene.connectAndRun(0, 2)
        try scene.disconnectAll(of: 0)
        try scene.subscribe(2, [])
        try scene.connectAndRun(2, 1)
        try scene.disconnectAll(of: 1)
        try scene.subscribe(2, [cars])
        try meetLimited(1)
        #expect(try scene.rows(3, "SELECT n FROM cars") == [#"{"n":8}"#])
        try scene.count(0, by: 2)
        try scene.connectAndRun(0, 2)
        try scene.disconnectAll(of: 0)
        try scene.subscribe(2, [])
        try meetLimited(2)
        #expect(try scene.rows(3, "SELECT n FROM cars") == [#"{"n":15}"#])
        try scene.connectAndRun(2, 1)
        try meetLimited(1)
        for number in 1...3 {
            #expect(try scene.rows(number, "SELECT n FROM cars") == [#"{"n":7}"#])
        }
    }

    /// The write of the store after the rollback.
    enum Since: CaseIterable { case field, addition, restart, otherCounter }
    /// The write of another store that has not received the lost addition.
    enum Concurrent: CaseIterable { case nothing, removal, restart, addition }

    /// Sends three states to six peers, each in another order.
    ///
    /// Peer 1 has the lost addition, peer 2 the store's write since then, and peer 3 a concurrent
    /// write.
    @Test(arguments: Since.allCases, Concurrent.allCases)
    func `counters with lost additions are equal for each order of receiving`(
        _ since: Since, _ concurrent: Concurrent
    ) throws {
        for seesSince in [false, true] {
            let scene = try orderScene(since, concurrent, seesSince: seesSince)
            let orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]]
            for (receiver, order) in zip(4..., orders) {
                try scene.subscribe(receiver, [cars])
                for number in order {
                    try scene.connectAndRun(number, receiver)
                    try scene.disconnectAll(of: receiver)
                }
            }
            let first = try (4...9).map { try scene.rows($0, all) }
            for receiver in 4...8 { try scene.connectAndRun(receiver, receiver + 1) }
            for _ in 0..<3 { try scene.advance(milliseconds: 500) }
            let rows = try (4...9).map { try scene.rows($0, all) }
            #expect(Set(rows).count == 1, "\(rows), before \(first)")
            #expect(try Set((4...9).map { try scene.content(of: $0) }).count == 1)
            if let value = expected(since, concurrent) {
                #expect(try scene.rows(9, "SELECT n FROM cars") == [#"{"n":\#(value)}"#])
            }
        }
    }

    private func orderScene(
        _ since: Since, _ concurrent: Concurrent, seesSince: Bool
    ) throws -> DocumentScene {
        let scene = try DocumentScene(10)
        for number in 1...3 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        try scene.count(0, by: 5)
        for number in 1...3 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        for number in 2...3 { try scene.disconnectAll(of: number) }
        try scene.count(0, by: 3)
        try scene.run()
        try scene.disconnectAll(of: 0)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.write(0, "a", "new")
        switch since {
        case .field: break
        case .addition: try scene.count(0, by: 2)
        case .restart: try scene.execute(0, "UPDATE cars APPLY n RESTART WITH 40")
        case .otherCounter: try scene.execute(0, "UPDATE cars APPLY m INCREMENT BY 1")
        }
        try scene.connectAndRun(0, 2)
        try scene.disconnectAll(of: 0)
        if seesSince {
            try scene.connectAndRun(2, 3)
            try scene.disconnectAll(of: 2)
        }
        try scene.advance(milliseconds: 5)
        switch concurrent {
        case .nothing: break
        case .removal: try scene.execute(3, "UPDATE cars UNSET n")
        case .restart: try scene.execute(3, "UPDATE cars APPLY n RESTART WITH 100")
        case .addition: try scene.count(3, by: 50)
        }
        try scene.advance(milliseconds: 1)
        for number in 1...3 { try scene.subscribe(number, []) }
        return scene
    }

    /// Returns the expected value of the counter, or nil where none is checked.
    private func expected(_ since: Since, _ concurrent: Concurrent) -> Int? {
        switch (since, concurrent) {
        case (.field, .nothing), (.otherCounter, .nothing), (.field, .removal),
            (.otherCounter, .removal):
            8
        case (.field, .addition), (.otherCounter, .addition): 58
        // The store's later addition includes the one before the pause, and replaces the lost one.
        case (.addition, .nothing): 7
        case (.addition, .addition): 57
        case (_, .restart): 100
        default: nil
        }
    }
}
