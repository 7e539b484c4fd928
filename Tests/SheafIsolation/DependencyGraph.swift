/// The graph of dependencies between transactions.
///
/// Nodes are transactions and moments: a transaction that ended before a moment precedes it, and a
/// moment precedes later transactions. So real-time order takes a few edges per transaction.
struct DependencyGraph {
    enum Dependency: UInt8 {
        case writeToWrite, writeToRead, readToWrite, time
    }

    private var sources: [Int32] = []
    private var targets: [Int32] = []
    private var kinds: [Dependency] = []
    private var nodeCount: Int
    /// The edges of node `n` are `order[starts[n]..<starts[n + 1]]`.
    private var starts: [Int] = []
    private var order: [Int32] = []

    init(nodeCount: Int) {
        self.nodeCount = nodeCount
    }

    mutating func addNode() -> Int {
        defer { nodeCount += 1 }
        return nodeCount
    }

    mutating func addEdge(_ source: Int, _ target: Int, _ kind: Dependency) {
        guard source != target else { return }
        sources.append(Int32(source))
        targets.append(Int32(target))
        kinds.append(kind)
    }

    /// Sorts the edges by their source node.
    private mutating func sortEdges() {
        starts = Array(repeating: 0, count: nodeCount + 1)
        for source in sources { starts[Int(source) + 1] += 1 }
        for node in 0..<nodeCount { starts[node + 1] += starts[node] }
        var next = starts
        order = Array(repeating: 0, count: sources.count)
        for (edge, source) in sources.enumerated() {
            order[next[Int(source)]] = Int32(edge)
            next[Int(source)] += 1
        }
    }

    /// Returns a shortest cycle through some node, or nil if the graph has no cycle.
    mutating func cycle() -> [(node: Int, kind: Dependency)]? {
        sortEdges()
        guard let component = firstComponent() else { return nil }
        return shortestCycle(within: Set(component))
    }

    /// Returns a strongly connected component of several nodes, or nil.
    ///
    /// Uses Tarjan's algorithm without recursion.
    private func firstComponent() -> [Int]? {
        var indices = Array(repeating: -1, count: nodeCount)
        var lowest = indices
        var isOnStack = Array(repeating: false, count: nodeCount)
        var stack: [Int] = []
        var calls: [(node: Int, edge: Int)] = []
        var counter = 0
        for root in 0..<nodeCount where indices[root] < 0 {
            calls.append((root, starts[root]))
            while let (node, edge) = calls.last {
                if indices[node] < 0 {
                    indices[node] = counter
                    lowest[node] = counter
                    counter += 1
                    stack.append(node)
                    isOnStack[node] = true
                }
                if edge < starts[node + 1] {
                    calls[calls.count - 1].edge += 1
                    let target = Int(targets[Int(order[edge])])
                    if indices[target] < 0 {
                        calls.append((target, starts[target]))
                    } else if isOnStack[target] {
                        lowest[node] = min(lowest[node], indices[target])
                    }
                    continue
                }
                calls.removeLast()
                if let caller = calls.last?.node {
                    lowest[caller] = min(lowest[caller], lowest[node])
                }
                guard lowest[node] == indices[node] else { continue }
                guard let first = stack.lastIndex(of: node) else { continue }
                if stack.count - first > 1 { return Array(stack[first...]) }
                isOnStack[node] = false
                stack.removeLast()
            }
        }
        return nil
    }

    private func shortestCycle(within component: Set<Int>) -> [(node: Int, kind: Dependency)]? {
        guard let start = component.min() else { return nil }
        var edgeTo: [Int: Int] = [:]
        var queue = [start]
        var front = 0
        while front < queue.count {
            let node = queue[front]
            front += 1
            for edge in order[starts[node]..<starts[node + 1]] {
                let target = Int(targets[Int(edge)])
                guard component.contains(target), edgeTo[target] == nil else { continue }
                edgeTo[target] = Int(edge)
                queue.append(target)
            }
        }
        var cycle: [(node: Int, kind: Dependency)] = []
        var node = start
        repeat {
            guard let edge = edgeTo[node] else { return nil }
            node = Int(sources[edge])
            cycle.append((node, kinds[edge]))
        } while node != start
        return cycle.reversed()
    }
}
