/// Connections that other peers open.
extension NetworkLoop {
    /// Maximum number of connections accepted before the other channels are served again.
    private static let acceptedAtOnce = 32
    /// Duration for which no connection is accepted after the process had no room for descriptors.
    private static let pauseNanoseconds: UInt64 = 100_000_000

    /// Accepts the connections that wait.
    func accept(_ listener: Socket) {
        for _ in 0..<Self.acceptedAtOnce {
            switch listener.accept() {
            case .accepted(let socket, let address): take(socket, address)
            case .nobody: return
            case .noRoom:
                pauseNanoseconds = now + Self.pauseNanoseconds
                return
            }
        }
    }

    private func take(_ socket: Socket, _ address: SocketAddress) {
        let name = address.description
        do throws(NetworkError) {
            if setup.credentials.identity.isOnlyLocal, !address.isLoopback {
                throw NetworkError(
                    .loopback,
                    "\(name) is not on this machine, and a transport in the mode development accepts no "
                        + "connection from another one unless allowsOtherMachines is set")
            }
            try makeRoom(for: address.network)
            let identifier = newIdentifier()
            let session = try TLSSession(setup.tls, socket: socket.number, role: .listener)
            channels[identifier] = Channel(
                identifier, socket, address: name, role: .listener, dialer: nil,
                stage: .handshake(session), now: now, limits: limits, network: address.network)
        } catch {
            reportRefusal(name, error)
        }
    }

    /// Ends a connection that has not proven a key where there is no room for one more; throws where none may be
    /// ended.
    private func makeRoom(for network: [UInt8]) throws(NetworkError) {
        let unknown = channels.values.filter(\.isUnknown)
        let neighbors = unknown.filter { $0.network == network }
        if neighbors.count >= limits.unknownConnectionsPerNetwork {
            guard let channel = oldestSilent(neighbors) ?? oldestPatient(neighbors) else {
                throw NetworkError(
                    .handshakes,
                    "there are \(neighbors.count) connections from the same network that have not "
                        + "proven a key, and no room for more")
            }
            return replace(channel)
        }
        let isFull = channels.count >= limits.connections
        guard isFull || unknown.count >= limits.unknownConnections else { return }
        guard let channel = oldestSilent(unknown) ?? oldestOfMost(unknown) else {
            guard !isFull else {
                throw NetworkError(
                    .connections,
                    "there are \(limits.connections) connections, and no room for more")
            }
            throw NetworkError(
                .handshakes,
                "there are \(limits.unknownConnections) connections that have not proven a key, "
                    + "and no room for more")
        }
        replace(channel)
    }

    /// The oldest connection without a byte: a peer sends its first bytes with the connection.
    private func oldestSilent(_ channels: [Channel]) -> Channel? {
        channels.filter { !$0.hasReceived }.min { $0.identifier < $1.identifier }
    }

    /// The oldest connection, once it has had some time to prove its key.
    private func oldestPatient(_ channels: [Channel]) -> Channel? {
        let patience = UInt64(limits.patienceMilliseconds) * 1_000_000
        let oldest = channels.min { $0.identifier < $1.identifier }
        return oldest.flatMap { $0.beganNanoseconds + patience <= now ? $0 : nil }
    }

    /// The oldest connection of the network that most of them come from; one that has a network for itself has
    /// some time to prove its key.
    private func oldestOfMost(_ channels: [Channel]) -> Channel? {
        let networks = Dictionary(grouping: channels, by: \.network)
        let most = networks.values.map(\.count).max() ?? 0
        let candidates = channels.filter { networks[$0.network]?.count == most }
        guard most > 1 else { return oldestPatient(candidates) }
        return candidates.min { $0.identifier < $1.identifier }
    }

    private func replace(_ channel: Channel) {
        let error = NetworkError(
            .handshakes, "the other end has not proven a key, and makes room for others")
        reportRefusal(channel.address, error)
        end(channel, error)
    }
}
