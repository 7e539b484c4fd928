import Sheaf
import SheafBytes
import SheafDocument
import SheafReplication

/// The answer of `GET /explain`: the path of a document to a peer, and the step that blocks it.
struct ExplanationAnswer {
    private let collection: String
    private let id: Value
    private let target: PeerKey

    /// Reads the parameters of a request.
    init(_ request: HTTPRequest) throws(ErrorAnswer) {
        func text(_ name: String) throws(ErrorAnswer) -> String {
            guard let text = request.parameter(name) else {
                throw ErrorAnswer(
                    400, "the parameter '\(name)' is missing",
                    hint: "the parameters are collection, id (JSON) and peer (a public key)")
            }
            return text
        }
        collection = try text("collection")
        let idText = try text("id")
        do throws(JSONError) { id = try Value(json: idText) } catch {
            throw ErrorAnswer(
                400, "the id '\(idText.shortened)' is not JSON: \(error)",
                hint: "an id that is a string needs quotes, such as \"a\"")
        }
        let peerText = try text("peer")
        guard let key = PeerKey(peerText) else {
            throw ErrorAnswer(
                400, "'\(peerText.shortened)' is not the public key of a peer",
                hint: "a key is pk: and 64 hexadecimal digits")
        }
        target = key
    }

    /// Returns the steps as an object.
    func steps(_ subject: InspectedStore) throws -> Object {
        guard let peer = subject.peer else {
            throw ErrorAnswer(
                404, "the inspector shows a store without a running peer",
                hint: "'sheaf inspect' on the store of a running 'sheaf peer serve' shows the peer")
        }
        let status = try peer.sync.documentStatus(of: collection, id)
        let way = try target == peer.key ? arrival(status, at: peer) : steps(status, from: peer)
        return [
            "document": .string(status.presence.rawValue),
            "commit": status.commit.map { .integer(Int64(clamping: $0)) } ?? .null,
            "steps": .array(way.map { .object($0.object) }),
            "blocking": way.firstIndex { $0.state != .ok }.map { .integer(Int64($0)) } ?? .null,
        ]
    }

    // MARK: To other peers

    private func steps(
        _ status: DocumentStatus, from peer: Peer
    ) throws -> [ExplanationStep] {
        let routes = peer.presence.graph.routes(to: target)
        guard let nearest = routes.first else {
            let found = try peer.sync.explanation(of: collection, id, for: target)
            let addresses = peer.presence.unreachableAddresses.prefix(4).map {
                "; \($0.address) is unreachable: \($0.reason)"
            }
            let reason =
                found?.lastCloseReason.map { "no connection leads to the peer: \($0)" }
                ?? "no connection has led to the peer since this one was started"
            return [
                ExplanationStep(peer.key, target, .notConnected, reason + addresses.joined())
            ]
        }
        switch status.presence {
        case .missing:
            return steps(
                on: nearest,
                ExplanationStep(
                    nearest[0], nearest[1], .unknown,
                    "this peer does not have the document, so it does not know which peers do"))
        case .evicted:
            return steps(
                on: nearest,
                ExplanationStep(
                    nearest[0], nearest[1], .evicted,
                    "this peer has evicted the document, so it does not send it"))
        case .present, .deleted: break
        }
        var best: [ExplanationStep] = []
        for route in routes {
            let found = try peer.sync.explanation(of: collection, id, for: route[1])
            let first = ExplanationStep(route[0], route[1], found)
            let all = steps(on: route, first)
            if first.state == .ok { return all }
            if best.isEmpty { best = all }
        }
        return best
    }

    /// Returns the steps of a route; only the state of the first one is known to this peer.
    private func steps(
        on route: [PeerKey], _ first: ExplanationStep
    ) -> [ExplanationStep] {
        let further = zip(route.dropFirst(), route.dropFirst(2)).map { from, to in
            ExplanationStep(
                from, to, .unknown, "this peer does not know what other peers send to each other")
        }
        return [first] + further
    }

    // MARK: To this peer

    /// Returns the step that keeps a document from this peer; none if the peer has it.
    private func arrival(
        _ status: DocumentStatus, at peer: Peer
    ) throws -> [ExplanationStep] {
        func step(
            _ from: PeerKey?, _ state: ExplanationStep.State, _ reason: String
        ) -> [ExplanationStep] {
            [ExplanationStep(from, peer.key, state, reason)]
        }
        switch status.presence {
        case .present: return []
        case .deleted:
            return step(nil, .deleted, "the document was deleted, by commit \(status.commit ?? 0)")
        case .evicted:
            return step(
                nil, .evicted, "this peer has evicted the document, by commit \(status.commit ?? 0)"
            )
        case .missing: break
        }
        guard try !peer.sync.subscriptions(of: collection).isEmpty else {
            return step(
                nil, .noSubscription,
                "no subscription of this peer selects documents of '\(collection.shortened)'")
        }
        let connected = try peer.sync.surveys().filter(\.isConnected)
        guard let nearest = connected.first else {
            return step(nil, .notConnected, "this peer has no connection")
        }
        let permitted = connected.filter { $0.readable?.contains(collection) ?? true }
        guard !permitted.isEmpty else {
            return step(
                nearest.key, .noRight,
                "the grant of this peer does not permit reading '\(collection.shortened)'")
        }
        if let sender = permitted.first(where: { !$0.isReceived }) {
            return step(
                sender.key, .lagging, "this peer has not received everything from that peer yet")
        }
        return step(
            nil, .unknown,
            "no connected peer has sent the document: none has it, or the subscriptions of this "
                + "peer do not select it")
    }
}
