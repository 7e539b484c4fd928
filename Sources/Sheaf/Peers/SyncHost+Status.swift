package import SheafDocument
import SheafStorage
import SheafSync

/// What is known of the peers that were met.
extension SyncHost {
    /// What is known of one.
    package struct Status: Sendable, Equatable {
        package internal(set) var isConnected = false
        package internal(set) var isServer = false
        package internal(set) var name = ""
        package internal(set) var site = Site.initial
        /// It has everything that it subscribed to, up to this commit of ours.
        package internal(set) var syncedUpTo: UInt64?
        /// The newest commit of ours of which it has documents, on its disk.
        package internal(set) var deliveredUpTo: UInt64?
        /// Why the last connection ended; nil while none has.
        package internal(set) var lastCloseReason: String?
        /// When it ended, in milliseconds since 1970.
        package internal(set) var endedMilliseconds: UInt64 = 0
        /// The address of the newest connection.
        package internal(set) var address = ""
        /// How many connections in a row ended soon after they began.
        package internal(set) var shortConnections: UInt64 = 0
        /// How often something new came.
        package internal(set) var updates = 0
        /// Reason why attachments of the peer are not fetched for others; nil if they are.
        package internal(set) var attachmentQuotaReason: String?
        /// What is known of its clock.
        package internal(set) var clock = ClockReport()
    }

    /// All peers that were met since the store was opened, by their keys.
    package var allStatuses: [[UInt8]: Status] { statuses }

    func note(connected link: Link, _ hello: Hello) {
        change(link) { status in
            status.isConnected = true
            status.address = link.address
            status.isServer = hello.isServer
            status.name = hello.name
            status.site = hello.site
        }
        emit(.presenceChanged)
    }

    func change(_ link: Link, _ body: (inout Status) -> Void) {
        guard let key = link.session.remote?.peerKey else { return }
        let old = statuses[key]
        body(&statuses[key, default: Status()])
        if statuses[key] != old { emit(.statusChanged) }
    }

    func acknowledged(_ link: Link, _ commit: UInt64) {
        guard !link.isLimited else { return acknowledgedByLimited(link, commit) }
        // A peer cannot have what there is not.
        let commit = min(commit, news.snapshot.log.commit)
        let known = link.telling?.acknowledged ?? 0
        link.telling?.acknowledged = max(known, commit)
        noteCorrected(through: commit, on: link)
        noteTaken(through: commit, on: link)
        noteSynced(through: commit, link)
    }

    /// Records an acknowledgement: the peer has taken documents that it refused before, and has
    /// those that were sent.
    func noteTaken(through commit: UInt64, on link: Link) {
        let key = link.session.remote?.peerKey ?? []
        guard statuses[key]?.clock.setAsideThere == nil else { return }
        refusals.noteAcknowledged(commit, by: key)
        guard let delivered = takeDelivered(commit, on: link) else { return }
        change(link) { $0.deliveredUpTo = max($0.deliveredUpTo ?? 0, delivered) }
    }

    /// Notes that a peer has everything that it subscribed to, up to a commit of ours.
    func noteSynced(through commit: UInt64, _ link: Link) {
        change(link) { status in
            // What it has set aside it does not have, and what that stands in may be any commit.
            guard status.clock.setAsideThere == nil else { return }
            status.syncedUpTo = max(status.syncedUpTo ?? 0, commit)
        }
    }
}
