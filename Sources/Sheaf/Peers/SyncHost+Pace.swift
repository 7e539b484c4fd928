import SheafSync

/// How often peers subscribe anew: each time costs the other side a look through what is asked for.
///
/// Both sides count alike. Who asks waits until it may, so nobody has to be kept waiting; who does not wait is
/// kept waiting, and let go of where that does not help.
extension SyncHost {
    /// When it is whose turn, by the keys of peers: who connects anew has no more turns for that.
    struct Paces {
        fileprivate var asking: [[UInt8]: Pace] = [:]
        fileprivate var telling: [[UInt8]: Pace] = [:]

        /// Whether a peer has subscribed to something, perhaps over another connection.
        func hasSubscribed(_ key: [UInt8]) -> Bool { telling[key] != nil }
    }

    /// Turns of one peer: some at once, and then one after the other.
    struct Pace {
        /// When all turns that were taken will be over.
        private var end: UInt64 = 0

        /// Takes one more, and says when it comes.
        mutating func take(at now: UInt64) -> UInt64 {
            let length = SyncLimits.subscriptionNanoseconds
            let atOnce = UInt64(SyncLimits.subscriptionsAtOnce) * length
            let most = atOnce + UInt64(SyncLimits.delayedSubscriptions + 1) * length
            end = min(max(end, now) + length, now + most)
            return max(now, end - min(end, atOnce))
        }

        func isOver(at now: UInt64) -> Bool { end <= now }
    }

    /// What a peer has subscribed to before it was its turn.
    struct Delayed {
        let request: Subscribe
        let turn: UInt64
        /// What is parsed of it, when its turn has come.
        var reading = SubscriptionReading()
        // What it has said since, and what there was then: of what comes and goes before its turn it would not hear.
        var asked: DocumentSnapshot?
        var wanted: (documents: Want.Documents, snapshot: DocumentSnapshot)?
        /// Whether it came before its turn.
        var isEarly = false
    }

    /// That this side is to subscribe when it is its turn.
    struct Due {
        let turn: UInt64
        var whole: [DocumentAddress]
    }

    /// More peers are forgotten once they have waited.
    private static let mostPaces = 1_024

    private func take(
        _ paces: inout [[UInt8]: Pace], _ link: Link
    ) -> UInt64 {
        guard let key = link.session.remote?.peerKey else { return now }
        if paces.count >= Self.mostPaces { paces = paces.filter { !$0.value.isOver(at: now) } }
        return paces[key, default: Pace()].take(at: now)
    }

    // MARK: What this peer wants

    /// Subscribes, or notes that it has to be done later; until then nothing of before counts.
    func subscribe(_ link: Link, whole: [DocumentAddress]) {
        if link.asking.due != nil {
            link.asking.due?.whole += whole
            return
        }
        let turn = take(&paces.asking, link)
        guard turn > now else { return sendSubscription(link, whole: whole) }
        link.asking.due = Due(turn: turn, whole: whole)
    }

    // MARK: What others want

    /// Takes in a subscription, and begins with it where its turn has come.
    func subscribed(_ link: Link, _ request: Subscribe) {
        let turn = take(&paces.telling, link)
        // What was told before has come to its end.
        link.telling = nil
        let patience =
            UInt64(SyncLimits.delayedSubscriptions) * SyncLimits.subscriptionNanoseconds
        if turn > now + patience {
            link.delayed = nil
            fail(link, .limit, "it was subscribed anew too often")
        } else {
            link.delayed = Delayed(request: request, turn: turn, isEarly: turn > now)
            begin(link)
        }
    }

    // MARK: Time

    func pace(_ link: Link) {
        if let due = link.asking.due, due.turn <= now {
            link.asking.due = nil
            sendSubscription(link, whole: due.whole)
        }
    }
}
