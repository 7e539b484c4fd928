/// How somebody comes in from outside.
extension NetworkLoop {
    /// How many are taken in before the others are served again.
    private static let acceptedAtOnce = 32
    /// How long nobody is taken in when the process has no room for descriptors.
    private static let pauseNanoseconds: UInt64 = 100_000_000

    /// Takes in those who wait.
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
                    "in the mode development nobody from another machine is let in, unless "
                        + "allowsOtherMachines is set")
            }
            try makeRoom()
            let identifier = newIdentifier()
            let session = try TLSSession(setup.tls, socket: socket.number, role: .listener)
            channels[identifier] = Channel(
                identifier, socket, address: name, role: .listener, dialer: nil,
                stage: .handshake(session), now: now, limits: limits)
        } catch {
            reportRefusal(name, error)
        }
    }

    private func makeRoom() throws(NetworkError) {
        let unknown = channels.values.filter(\.isUnknown)
        let isFull = channels.count >= limits.connections
        guard isFull || unknown.count >= limits.unknownConnections else { return }
        // An honest peer says who it is at once. So whoever has not, for longest, makes room.
        let patience = UInt64(limits.patienceMilliseconds) * 1_000_000
        let oldest = unknown.min { $0.identifier < $1.identifier }
        guard let oldest, oldest.beganNanoseconds + patience <= now else {
            guard !isFull else {
                throw NetworkError(
                    .connections,
                    "there are \(limits.connections) connections, and no room for more")
            }
            throw NetworkError(
                .handshakes,
                "there are \(limits.unknownConnections) connections that have not said who they are, "
                    + "and no room for more")
        }
        let error = NetworkError(
            .handshakes, "the other end has not said who it is, and makes room for others")
        reportRefusal(oldest.address, error)
        end(oldest, error)
    }
}
