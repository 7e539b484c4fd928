import SheafDocument

/// An exhaustive enumeration of short histories of three peers, which checks the laws of join.
///
/// The search is breadth-first and visits each state once, so a counterexample is a shortest one.
package struct Enumeration<Document: MergingDocument & Hashable> {
    /// The numbers of visited states and documents.
    package struct Report: Sendable {
        /// Combined states of all three peers.
        package var states = 0
        /// Different documents in these states and in their joins.
        package var documents = 0
        /// The first violation of a law, with the history that leads to it.
        package var violation: String?
    }

    private struct Node: Hashable {
        var peers: [Int32]
        var writes: Int
        var joins: Int
    }

    private struct Pair: Hashable {
        let left, right: Int32
    }

    private struct Act: Hashable {
        let document: Int32
        let peer, write: Int
    }

    private let writes: [ModelWrite]
    private let writeLimit, joinLimit: Int
    private let lags: [UInt64]
    private let inspect: (Document) -> String?
    private var documents: [Document] = []
    private var numbers: [Document: Int32] = [:]
    private var joins: [Pair: Int32] = [:]
    private var acts: [Act: Int32] = [:]
    private var violation: String?

    /// Creates an enumeration with at most `writeLimit` writes and `joinLimit` joins per history.
    ///
    /// A peer's write is later than its latest seen time by 1 plus its lag. `inspect` is called
    /// once for each document and returns its defect, or nil.
    package init(
        _ writes: [ModelWrite], writeLimit: Int, joinLimit: Int, lags: [UInt64] = [0, 0, 0],
        inspect: @escaping (Document) -> String? = { _ in nil }
    ) {
        self.writes = writes
        self.writeLimit = writeLimit
        self.joinLimit = joinLimit
        self.lags = lags
        self.inspect = inspect
    }

    package mutating func run() -> Report {
        let start = number(Document())
        var nodes = [Node(peers: [start, start, start], writes: 0, joins: 0)]
        var origins = [(from: 0, step: "")]
        var seen: Set<Node> = [nodes[0]]
        var checked: Set<[Int32]> = []
        var next = 0
        while next < nodes.count, violation == nil {
            let node = nodes[next]
            if checked.insert(node.peers.sorted()).inserted { check(node.peers) }
            for (successor, step) in successors(of: node) where seen.insert(successor).inserted {
                nodes.append(successor)
                origins.append((from: next, step: step))
            }
            next += 1
        }
        var report = Report(states: checked.count, documents: documents.count)
        guard let violation else { return report }
        var history: [String] = []
        var index = next - 1
        while index > 0 {
            history.insert(origins[index].step, at: 0)
            index = origins[index].from
        }
        report.violation = (history + [violation]).joined(separator: "\n")
        return report
    }

    private mutating func successors(of node: Node) -> [(Node, String)] {
        var successors: [(Node, String)] = []
        for peer in node.peers.indices {
            if node.writes < writeLimit {
                for index in writes.indices {
                    let after = written(Act(document: node.peers[peer], peer: peer, write: index))
                    var successor = node
                    successor.peers[peer] = after
                    successor.writes += 1
                    successors.append((successor, "peer \(peer): \(writes[index])"))
                }
            }
            guard node.joins < joinLimit else { continue }
            for other in node.peers.indices where other != peer {
                var successor = node
                successor.peers[peer] = joined(node.peers[peer], node.peers[other])
                guard successor.peers != node.peers else { continue }
                successor.joins += 1
                successors.append((successor, "peer \(peer) joins the document of peer \(other)"))
            }
        }
        return successors.filter { $0.0.peers != node.peers }
    }

    private mutating func check(_ peers: [Int32]) {
        let (a, b, c) = (peers[0], peers[1], peers[2])
        let all = joined(joined(a, b), c)
        if joined(a, joined(b, c)) != all || joined(b, joined(a, c)) != all {
            fail("the join of all three depends on the order")
        }
    }

    private mutating func written(_ act: Act) -> Int32 {
        if let known = acts[act] { return known }
        var document = documents[Int(act.document)]
        let time = document.latestTime.rawValue + 1 + lags[act.peer]
        let site = Site(rawValue: UInt64(act.peer + 1))
        document.apply(writes[act.write], stamp: Stamp(HybridTime(rawValue: time), site))
        let after = number(document)
        acts[act] = after
        if joined(act.document, after) != after {
            fail("peer \(act.peer): \(writes[act.write]) is undone by the earlier state")
        }
        return after
    }

    private mutating func joined(_ left: Int32, _ right: Int32) -> Int32 {
        if let known = joins[Pair(left: left, right: right)] { return known }
        let joined = number(documents[Int(left)].joined(with: documents[Int(right)]))
        joins[Pair(left: left, right: right)] = joined
        let swapped = number(documents[Int(right)].joined(with: documents[Int(left)]))
        joins[Pair(left: right, right: left)] = swapped
        if joined != swapped { fail("a join is not commutative", left, right) }
        for one in [left, right] where one != joined {
            if self.joined(one, joined) != joined { fail("a repeated join differs", left, right) }
        }
        return joined
    }

    private mutating func number(_ document: Document) -> Int32 {
        if let known = numbers[document] { return known }
        let number = Int32(documents.count)
        numbers[document] = number
        documents.append(document)
        if let mistake = inspect(document) { fail(mistake, number) }
        if document.joined(with: document) != document {
            fail("a join with itself differs", number, number)
        }
        return number
    }

    private mutating func fail(_ text: String, _ involved: Int32...) {
        let dumps = involved.map { documents[Int($0)].dump.joined(separator: "\n") }
        if violation == nil { violation = ([text] + dumps).joined(separator: "\n\n") }
    }
}
