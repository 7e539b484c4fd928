import SheafBytes

/// Deadlines and retries.
extension NetworkLoop {
    /// Ends channels past their deadline, and dials addresses whose delay has passed.
    func handleClockChange() {
        let (now, wallNow) = (now, wallNow)
        if let pause = pauseNanoseconds, pause <= now { pauseNanoseconds = nil }
        for channel in Array(channels.values) {
            if let end = channel.endMilliseconds, end <= wallNow {
                expire(channel)
            } else if let deadline = channel.deadlineNanoseconds, deadline <= now {
                tookTooLong(channel)
            }
        }
        for dialer in Array(dialers.values) {
            if case .waiting(let until) = dialer.phase, until <= now { dial(dialer.identifier) }
        }
    }

    /// Returns the time until the next deadline.
    func millisecondsToNextDeadline() -> UInt64 {
        let wallNow = wallNow
        var (next, wall) = (pauseNanoseconds ?? .max, UInt64.max)
        if let discovery { next = min(next, discovery.deadline, nextLearning) }
        for channel in channels.values {
            next = min(next, channel.deadlineNanoseconds ?? .max)
            if let end = channel.endMilliseconds { wall = min(wall, end) }
        }
        for dialer in dialers.values {
            if case .waiting(let until) = dialer.phase { next = min(next, until) }
        }
        let now = now
        // The time is rounded up: waking too early would need a second wakeup.
        let rest = next > now ? (next - now) / 1_000_000 + (next == .max ? 0 : 1) : 0
        return min(rest, wall > wallNow ? wall - wallNow : 0)
    }

    private func expire(_ channel: Channel) {
        let error = NetworkError(
            .grantExpired, "a grant of this connection has expired; both ends need a valid grant")
        reportRefusal(channel.address, error)
        end(channel, error)
    }

    private func tookTooLong(_ channel: Channel) {
        switch channel.stage {
        case .connecting:
            end(
                channel,
                NetworkError(
                    .handshakeTime,
                    "\(channel.address.shortened(to: ErrorText.limit)) does not respond"))
        case .tlsHandshake, .handshake:
            let error = NetworkError(
                .handshakeTime,
                "handshake timeout: no valid greeting within \(limits.handshakeMilliseconds) ms")
            if channel.role == .listener { reportRefusal(channel.address, error) }
            end(channel, error)
        case .exchange:
            end(
                channel, NetworkError(.queue, "the peer did not receive the last bytes in time")
            )
        case .closeMessage, .silence:
            end(channel, .closedByOwnPeer)
        }
    }
}
