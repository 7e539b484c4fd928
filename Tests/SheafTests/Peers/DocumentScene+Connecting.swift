import Sheaf
import SheafDocument
import SheafStatements
import Testing

/// Peers that write and connect one after another.
extension DocumentScene {
    /// Sets a field of a document to 1, with a millisecond before and after.
    func write(_ number: Int, _ id: String, _ field: String) throws {
        try advance(milliseconds: 1)
        try execute(
            number, "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE",
            ["car": ["_id": .string(id), field: 1] as Value])
        try advance(milliseconds: 1)
    }

    /// Adds to the counter `n` of all documents, and sets a field named after the amount.
    func count(_ number: Int, by amount: Int) throws {
        try advance(milliseconds: 1)
        try execute(
            number,
            DQL(verbatim: "UPDATE cars APPLY n INCREMENT BY \(amount) SET by\(amount) = 1"))
        try advance(milliseconds: 1)
    }

    /// Connects two nodes, and reconnects after each connection that a node closes.
    func connectAndRun(_ one: Int, _ other: Int) throws {
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
