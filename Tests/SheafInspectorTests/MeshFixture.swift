import Sheaf
import SheafDocument
import SheafInspector
import SheafStatements
import SheafStore
import SheafSystem
import SheafTestSupport
import Testing

/// Peers in memory, and an inspector of the first one.
final class MeshFixture: Sendable {
    let network = MemoryNetwork(connectsAll: false)
    let peers: [Peer]
    let fixture: InspectorFixture

    /// Starts peers, of which each has a subscription to these queries and these rights.
    init(
        _ subscriptions: [[DQL]], rights: [Int: PeerRights] = [:],
        _ options: InspectorOptions = InspectorOptions()
    ) async throws {
        var peers: [Peer] = []
        for (number, queries) in subscriptions.enumerated() {
            let key = PeerKey.random()
            let peer = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "mesh", key: key, deviceName: "peer \(number)",
                    transports: [network.transport(for: key, rights: rights[number])]))
            for query in queries { _ = try peer.sync.registerSubscription(query) }
            try peer.sync.start()
            peers.append(peer)
        }
        self.peers = peers
        fixture = try await InspectorFixture(peers[0], options)
    }

    func connect(_ one: Int, _ other: Int) {
        network.connect(peers[one].key, peers[other].key)
    }

    func close() async throws {
        await fixture.inspector.stop()
        for peer in peers { try await peer.close() }
    }

    /// Returns the answer of `GET /explain` for a document of `cars`.
    func explanation(_ id: Int, on peer: Int) throws -> Explanation {
        let key = peers[peer].key
        let (status, answer) = try fixture.object(
            "GET", "/explain?collection=cars&id=\(id)&peer=\(key)")
        return Explanation(status, answer, peers.map { "\($0.key)" })
    }

    /// Asks until the states of the steps are the expected ones; nil if they never are.
    func explanation(_ id: Int, on peer: Int, until states: [String]) throws -> Explanation? {
        let end = Clock.testDeadline()
        while Clock.system.monotonicNanoseconds() < end {
            let found = try explanation(id, on: peer)
            if found.states == states { return found }
        }
        Issue.record("The states are \(try explanation(id, on: peer)).")
        return nil
    }
}

/// An answer of `GET /explain`, with the numbers of peers in place of their keys.
struct Explanation: Equatable {
    struct Step: Equatable {
        let from: Int?
        let to: Int?
        let state: String
        let reason: String
    }

    let status: Int
    let document: Value?
    let steps: [Step]
    let blocking: Int64?

    var states: [String] { steps.map(\.state) }

    init(_ status: Int, _ answer: Object, _ keys: [String]) {
        self.status = status
        document = answer["document"]
        if case .integer(let index)? = answer["blocking"] {
            blocking = index
        } else {
            blocking = nil
        }
        guard case .array(let values)? = answer["steps"] else {
            steps = []
            return
        }
        steps = values.compactMap { value in
            guard case .object(let step) = value, case .string(let state)? = step["state"],
                case .string(let reason)? = step["reason"]
            else { return nil }
            func number(_ name: String) -> Int? {
                guard case .string(let key)? = step[name] else { return nil }
                return keys.firstIndex(of: key)
            }
            return Step(from: number("from"), to: number("to"), state: state, reason: reason)
        }
    }
}
