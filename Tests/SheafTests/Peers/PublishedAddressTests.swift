import Sheaf
import SheafSync
import SheafTestSupport
import Synchronization
import Testing

/// Addresses on their way from the transport of one peer to those of others.
struct PublishedAddressTests {
    /// A transport of a memory network that has addresses and records what is proposed.
    private final class AddressedTransport: PeerTransport {
        private struct State: Sendable {
            var host: (any PeerTransportHost)?
            var addresses: [PeerAddress] = []
        }

        private let base: any PeerTransport
        private let state = Mutex(State())
        let proposals: AsyncStream<[PeerKey: [PeerAddress]]>
        private let continuation: AsyncStream<[PeerKey: [PeerAddress]]>.Continuation

        init(_ base: any PeerTransport) {
            self.base = base
            (proposals, continuation) = AsyncStream.makeStream()
        }

        func start(_ host: any PeerTransportHost) throws {
            state.withLock { $0.host = host }
            try base.start(host)
        }

        func stop() { base.stop() }

        var addresses: [PeerAddress] { state.withLock(\.addresses) }

        func propose(_ peers: [PeerKey: [PeerAddress]]) { continuation.yield(peers) }

        func listen(at addresses: [PeerAddress]) {
            let host = state.withLock { state in
                state.addresses = addresses
                return state.host
            }
            host?.addressesChanged()
        }
    }

    private func address(_ bytes: [UInt8], port: UInt16 = 4_120) throws -> PeerAddress {
        try #require(PeerAddress(bytes, port: port))
    }

    private func expect(
        _ transport: AddressedTransport, toGet expected: [PeerKey: [PeerAddress]]
    ) async {
        for await proposed in transport.proposals where proposed == expected { return }
        Issue.record("the stream has ended")
    }

    @Test(.timeLimit(.minutes(40)))
    func `a transport gets the addresses of peers that it is not connected with`() async throws {
        let network = MemoryNetwork(connectsAll: false)
        var (peers, transports): ([Peer], [AddressedTransport]) = ([], [])
        for _ in 0..<3 {
            let key = PeerKey.random()
            let transport = AddressedTransport(network.transport(for: key))
            let peer = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "scene", key: key, transports: [transport]))
            try peer.sync.start()
            peers.append(peer)
            transports.append(transport)
        }
        let here = try address([10, 9, 1, 3])
        transports[2].listen(at: [here, try address([127, 0, 0, 1])])
        network.connect(peers[0].key, peers[1].key)
        network.connect(peers[1].key, peers[2].key)
        // The loopback address is not published.
        await expect(transports[0], toGet: [peers[2].key: [here]])
        let there = try address([10, 9, 2, 3])
        transports[2].listen(at: [there])
        await expect(transports[0], toGet: [peers[2].key: [there]])
        transports[2].listen(at: [])
        await expect(transports[0], toGet: [:])
        // Metadata changes nothing about addresses.
        transports[2].listen(at: [here])
        try peers[2].presence.setMetadata(["role": "waiter"])
        await expect(transports[0], toGet: [peers[2].key: [here]])
        for peer in peers { try await peer.close() }
    }
}
