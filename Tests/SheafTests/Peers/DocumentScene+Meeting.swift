import Sheaf
import Testing

/// Peers that write and connect one after the other.
extension DocumentScene {
    /// Sets a field of a document to 1, a millisecond after what was before.
    func write(_ number: Int, _ id: String, _ field: String) throws {
        try advance(milliseconds: 1)
        try execute(
            number, "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE",
            ["car": ["_id": .string(id), field: 1] as Value])
        try advance(milliseconds: 1)
    }

    /// Adds to the counter `n` of all documents, and notes the amount in a field of its own.
    func count(_ number: Int, by amount: Int) throws {
        try advance(milliseconds: 1)
        try execute(
            number,
            Query(verbatim: "UPDATE cars APPLY n INCREMENT BY \(amount) SET by\(amount) = 1"))
        try advance(milliseconds: 1)
    }

    /// Connects two nodes, again after each connection that one of them has ended.
    func meet(_ one: Int, _ other: Int) throws {
        var wire = try connect(one, other)
        try run()
        for _ in 0..<4 where !isConnected(wire) {
            wire = try connect(one, other)
            try run()
        }
        #expect(isConnected(wire))
    }

    /// Ends all connections of a node.
    func disconnectAll(of number: Int) throws {
        for wire in connections(of: number) { try disconnect(wire) }
    }
}
