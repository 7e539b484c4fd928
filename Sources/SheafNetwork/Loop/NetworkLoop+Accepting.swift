/// Accepting incoming connections.
extension NetworkLoop {
    /// Maximum number of connections accepted before the other channels are served again.
    private static let acceptedAtOnce = 32

    /// Accepts pending connections.
    func accept(_ listener: Socket) {
        for _ in 0..<Self.acceptedAtOnce {
            switch listener.accept() {
            case .accepted(let socket, let address): acceptSocket(socket, address)
            case .noConnection: return
            case .noRoom:
                acceptPause.begin(at: now)
                return
            }
        }
    }

    /// Closes the listening sockets, and the incoming connections that have not proven a key.
    func stopAccepting() {
        for listener in listeners { poller.remove(listener.number) }
        listeners = []
        for channel in Array(channels.values) where channel.isUnknown {
            end(channel, NetworkError(.stopped, "the transport accepts no more connections"))
        }
    }

    private func acceptSocket(_ socket: Socket, _ address: SocketAddress) {
        let name = address.description
        do throws(NetworkError) {
            if setup.credentials.identity.isOnlyLocal, !address.isLoopback {
                throw NetworkError(
                    .loopback,
                    "\(name) is not on this machine; a transport in development mode accepts no "
                        + "connections from other machines unless allowsOtherMachines is set")
            }
            try makeRoom(for: address.network)
            let identifier = newIdentifier()
            let session = try TLSSession(setup.tls, socket: socket.number, role: .listener)
            add(
                Channel(
                    identifier, socket, address: name, role: .listener, dialer: nil,
                    stage: .tlsHandshake(session), now: now, limits: limits,
                    network: address.network, in: changes))
        } catch {
            reportRefusal(name, error)
        }
    }

    /// Closes an unauthenticated connection if a limit is reached; throws if none may be closed.
    private func makeRoom(for network: [UInt8]) throws(NetworkError) {
        let unknown = Array(unknown.values)
        let neighbors = unknown.filter { $0.network == network }
        if neighbors.count >= limits.unknownConnectionsPerNetwork {
            guard let channel = oldestSilent(neighbors) ?? oldestPatient(neighbors) else {
                throw NetworkError(
                    .handshakes,
                    "\(neighbors.count) connections from the same network have not proven a key, "
                        + "which is the limit")
            }
            return replace(channel)
        }
        let isFull = channels.count >= limits.connections
        guard isFull || unknown.count >= limits.unknownConnections else { return }
        guard let channel = oldestSilent(unknown) ?? oldestOfMost(unknown) else {
            guard !isFull else {
                throw NetworkError(
                    .connections,
                    "the limit of \(limits.connections) connections is reached")
            }
            throw NetworkError(
                .handshakes,
                "the limit of \(limits.unknownConnections) connections that have not proven a key "
                    + "is reached")
        }
        replace(channel)
    }

    /// Returns the oldest connection that has sent nothing.
    ///
    /// A peer sends its first bytes immediately after connecting.
    private func oldestSilent(_ channels: [Channel]) -> Channel? {
        channels.filter { !$0.hasReceived }.min { $0.identifier < $1.identifier }
    }

    /// Returns the oldest connection if its minimum time for proving a key has passed.
    private func oldestPatient(_ channels: [Channel]) -> Channel? {
        let timeout = UInt64(limits.patienceMilliseconds) * 1_000_000
        let oldest = channels.min { $0.identifier < $1.identifier }
        return oldest.flatMap { $0.beganNanoseconds + timeout <= now ? $0 : nil }
    }

    /// Returns the oldest connection of the network that has the most connections.
    ///
    /// If no network has several, the connection is returned only after its minimum time.
    private func oldestOfMost(_ channels: [Channel]) -> Channel? {
        let networks = Dictionary(grouping: channels, by: \.network)
        let most = networks.values.map(\.count).max() ?? 0
        let candidates = channels.filter { networks[$0.network]?.count == most }
        guard most > 1 else { return oldestPatient(candidates) }
        return candidates.min { $0.identifier < $1.identifier }
    }

    private func replace(_ channel: Channel) {
        let error = NetworkError(
            .handshakes, "replaced by a newer connection before it had proven a key")
        reportRefusal(channel.address, error)
        end(channel, error)
    }
}
