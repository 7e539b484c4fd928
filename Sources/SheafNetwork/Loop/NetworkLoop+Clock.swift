import SheafBytes

/// What happens because time passes.
extension NetworkLoop {
    /// Ends what has taken too long, and tries what is due.
    func lookAtClock() {
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

    /// How long the loop may wait, as far as deadlines are concerned.
    func millisecondsToNextDeadline() -> UInt64 {
        let wallNow = wallNow
        var (next, wall) = (pauseNanoseconds ?? .max, UInt64.max)
        for channel in channels.values {
            next = min(next, channel.deadlineNanoseconds ?? .max)
            if let end = channel.endMilliseconds { wall = min(wall, end) }
        }
        for dialer in dialers.values {
            if case .waiting(let until) = dialer.phase { next = min(next, until) }
        }
        let now = now
        // Rounded up: to come too early is to come twice.
        let rest = next > now ? (next - now) / 1_000_000 + (next == .max ? 0 : 1) : 0
        return min(rest, wall > wallNow ? wall - wallNow : 0)
    }

    private func expire(_ channel: Channel) {
        let error = NetworkError(
            .grantExpired, "a grant of this connection has expired; both ends need valid ones")
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
                    "\(channel.address.shortened(to: ErrorText.limit)) does not answer"))
        case .handshake, .introduction:
            let error = NetworkError(
                .handshakeTime,
                "the other end has not said within \(limits.handshakeMilliseconds) ms who it is")
            if channel.role == .listener { reportRefusal(channel.address, error) }
            end(channel, error)
        case .talk:
            end(
                channel, NetworkError(.queue, "the other end did not take what was sent at the end")
            )
        case .farewell, .silence:
            end(channel, .closedHere)
        }
    }
}
