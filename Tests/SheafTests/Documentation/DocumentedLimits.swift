import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafNetwork
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafText
import Testing

/// The constants of the limits, by the beginning of the row of the page of limits.
///
/// They are in the order of the numbers in the row: in bytes, nanoseconds, or as a count.
enum DocumentedLimits {
    static let parameters = SystemParameters()

    private static let second = 1_000_000_000
    private static let millisecond = 1_000_000

    /// Returns the default of a system parameter that is an integer.
    private static func parameter(_ name: String) throws -> Int {
        guard case .integer(let number) = try parameters.value(name) else {
            throw StoreError(.argument, "\(name) is not an integer")
        }
        return Int(number)
    }

    static func all() throws -> [String: [Int]] {
        var all: [String: [Int]] = [:]
        for part in try [
            documents(), attachments(), subscriptions(), evaluation(), columns(), texts(),
            statements(), loops(), stores(), peers(),
        ] {
            all.merge(part) { _, _ in preconditionFailure("A row has one entry.") }
        }
        return all
    }

    private static func documents() throws -> [String: [Int]] {
        let size = "the size of a document, "
        let timeout = try parameter("dql_request_timeout_seconds")
        let slow = try parameter("dql_slow_request_warn_seconds")
        let first = try parameter("transaction_duration_before_logging_ms")
        let next = try parameter("transaction_trace_interval_ms")
        return [
            size + "above which it is logged": [try parameter("document_size_soft_limit_bytes")],
            size + "above which it is rejected": [try parameter("document_size_hard_limit_bytes")],
            size + "whatever the parameter is set to": [EncodedDocument.maximumLength],
            "the time that a writer waits for one transaction": [
                try parameter("transaction_wait_limit_ms") * millisecond
            ],
            "the duration of a statement": timeout == 0 ? [] : [timeout * second],
            "the duration of a statement, above which it is logged": [slow * second],
            "the duration of a transaction, above which it is logged": [
                first * millisecond, next * millisecond,
            ],
            "the age of tombstones": [try parameter("tombstone_ttl_hours") * 3_600 * second],
            "the age of unreferenced attachments": [
                try parameter("attachment_grace_seconds") * second
            ],
        ]
    }

    private static func attachments() -> [String: [Int]] {
        [
            "the size of an attachment": [AttachmentToken.maximumLength],
            "the size of an attachment read into memory": [StoredAttachment.maximumDataLength],
            "the size of all attachments of an in-memory store together": [
                StoreOptions().attachmentMemory
            ],
            "the metadata of an attachment": [AttachmentToken.maximumMetadataLength],
            "unproven tokens that a peer with limited rights writes into a document at once": [
                AttachmentToken.maximumUnproven
            ],
            "bytes of attachments stored on behalf of other peers": [
                ReceivedAttachments.overhead,
                PeerConfiguration(databaseID: DatabaseID("limits")).attachmentQuota,
            ],
            "attachments whose possession a peer proves at a time": [SyncLimits.possessionChecks],
            "connections over which a request for an attachment is forwarded": [SyncLimits.hops],
            "attachments fetched for other peers at a time": [AttachmentTransfer.maximumRelayed],
        ]
    }

    private static func subscriptions() throws -> [String: [Int]] {
        let interval = "subscription_clock_interval_ms"
        var changed = SystemParameters()
        _ = try changed.set(interval, to: .integer(.max))
        let longest = Int(changed.subscriptionClockNanoseconds)
        _ = try changed.set(interval, to: .integer(1_000))
        let shortest = Int(changed.subscriptionClockNanoseconds)
        #expect(throws: StoreError.self) { try changed.set(interval, to: .integer(999)) }
        return [
            "the metadata of a peer, as JSON": [Greeting.maximumMetadataLength],
            "a grant; each of its conditions": [
                PeerGrant.maximumLength, PeerGrant.maximumConditionLength,
            ],
            "collections with a condition in a grant": [
                PeerGrant.maximumCollections, PeerGrant.maximumCollections,
            ],
            "peers of a mesh in the presence graph": [
                PresenceLimits.records, PresenceLimits.recordBytes,
            ],
            "different subscriptions of a peer": [SyncLimits.queries],
            "the query of a subscription, its arguments": [
                SyncLimits.queryLength, SyncLimits.argumentsLength,
            ],
            "`ORDER BY` and `LIMIT` in a local or received subscription":
                parameters.restrictsSubscriptions ? [] : [0],
            "the time between two renewals of subscriptions with `clock()`": [
                try parameter(interval) * millisecond, shortest, longest,
            ],
            "queries and arguments of all subscriptions of a peer together": [
                SyncLimits.subscriptionLength
            ],
            "changed documents queued for a peer with limited rights": [
                ReplicatorLimits().limitedChanges, ReplicatorLimits().limitedChangeBytes,
            ],
            "documents of all subscriptions with LIMIT of a peer together": [
                SyncLimits.rankedDocuments
            ],
            "changes of subscriptions sent to a peer at once": [
                second / Int(SyncLimits.subscriptionNanoseconds), SyncLimits.subscriptionsAtOnce,
            ],
        ]
    }

    private static func evaluation() -> [String: [Int]] {
        [
            // The time of a unit is a measurement, and no constant.
            "the evaluation cost of the queries of a peer with limited rights": [
                SyncLimits.evaluationUnits, SyncLimits.evaluationUnitsPerSecond, 10,
            ],
            "the same for a peer that may read everything": [
                SyncLimits.unrestrictedFactor, SyncLimits.unrestrictedFactorPerSecond,
            ],
            "free units of the write rule for a peer with limited rights": [
                SyncLimits.ruleUnitsOnDocument
            ],
            "the evaluation cost of one query of another peer on one document": [
                SyncLimits.evaluationUnitsOnDocument
            ],
            "evaluation for other peers before other connections are served": [
                SyncLimits.evaluationUnitsPerTurn
            ],
        ]
    }

    private static func columns() throws -> [String: [Int]] {
        [
            "the time in which a thread of a peer looks for work before it sleeps": [
                PeerConfiguration(databaseID: DatabaseID("limits")).busyPollMicroseconds,
                BusyPoll.maximumMicroseconds * 1_000,
            ],
            "memory of fields that full scans use often": [try parameter("column_cache_bytes")],
            "full scans of at least": [
                ColumnCache.minimumDocuments, try parameter("column_cache_scans"),
            ],
            "texts of a field that is kept in memory": [ElementColumnBuilder.maximumTextLength],
            "statements in `system:request_history`": [
                try parameter("dql_request_history_size"), Request.maximumTextLength,
            ],
        ]
    }

    private static func texts() -> [String: [Int]] {
        [
            "the text of a statement": [QueryLimits.maximumLength],
            "paths, addresses, names, ids and values in the message of an error": [
                ErrorText.limit
            ],
            "the message and the hint of an error in a statement": [
                ErrorText.limit, StoreError.Excerpt.maximumLength,
            ],
            "the message and the hint of any other error": [ErrorText.messageLimit],
            "a statement in the log": [ErrorText.loggedStatementLimit],
            "a pattern; the nesting depth of its groups": [
                PatternLimits.maximumLength, PatternLimits.maximumDepth,
                PatternLimits.maximumStates,
            ],
            "matching a pattern with one text": [PatternLimits.maximumFuel],
            "a JSON text that is parsed as a `Value`": [JSONReader.maximumLength],
            "dates": [year(of: Moment.range.lowerBound), year(of: Moment.range.upperBound)],
        ]
    }

    /// Returns the year of a time in milliseconds since 1970.
    private static func year(of milliseconds: Int64) -> Int {
        let day = Int64(86_400_000)
        let remainder = (milliseconds % day + day) % day
        return CalendarDay(number: Int((milliseconds - remainder) / day)).year
    }

    private static func statements() -> [String: [Int]] {
        [
            "the nesting depth of values": [Value.maximumDepth],
            "the nesting depth of expressions": [QueryLimits.maximumDepth],
            "documents that satisfy the condition of an incrementally maintained result": [
                IncrementalView.maximumCount
            ],
            "joins of a statement": [QueryLimits.maximumJoins],
            "index scans for an OR": [QueryLimits.maximumScans],
            "terms of a list, an object or a chain of operators in a statement": [
                QueryLimits.maximumTerms
            ],
            "names in a path": [QueryLimits.maximumPathLength],
            "a string or bytes that a function returns": [QueryLimits.maximumTextLength],
            "elements of a computed array, and values within a computed value": [
                QueryLimits.maximumElements
            ],
            "documents of a collection read for the notes on an empty result": [
                CollectionSample.maximumCount
            ],
        ]
    }

    private static func loops() -> [String: [Int]] {
        [
            "elements that a loop such as `ANY` visits for one row": [
                QueryLimits.maximumLoopSteps, QueryLimits.maximumNestedSteps,
                QueryLimits.maximumDeepSteps,
            ],
            "the nesting depth of loops": [QueryLimits.maximumLoopNesting],
        ]
    }

    private static func stores() -> [String: [Int]] {
        [
            "collections": [Catalog.maximumCollections],
            "different field names that documents store as a number": [
                NameTable.maximumNameLength, NameTable.maximumCount,
            ],
            "documents changed in one transaction": [LogStoreOptions().transactionLength],
            "stuck callbacks of observers": [WorkerScheduler.maximumCallers],
            "an `_id` as encoded": [
                SortKey.identity(of: "text").count - 4, DocumentID.maximumLength,
            ],
            "the name of a collection, and of an index": [Catalog.maximumCollectionNameLength],
            "indexes of a collection; fields of an index": [
                IndexDefinition.maximumIndexes, IndexDefinition.maximumFields,
            ],
            "changes of documents and of the catalog in one transaction": [
                Limits.maximumCommitOperations
            ],
            "history that compaction keeps": [
                Int(HistoryHorizon().commits), HistoryHorizon().bytes,
            ],
        ]
    }

    private static func peers() -> [String: [Int]] {
        let limits = NetworkLimits()
        return [
            "incoming connections without a proven key": [
                limits.unknownConnections, limits.unknownConnectionsPerNetwork,
            ],
            "time in which an incoming connection has to prove a key": [
                limits.handshakeMilliseconds * millisecond
            ],
            "the time by which a received document may be ahead of the local clock": [
                Int(HybridClock.defaultLeniencyMilliseconds) * millisecond
            ],
            "quarantined documents recorded one by one": [QuarantineTable.maximumCount],
            "refused documents listed for one peer, and for all": [
                RefusalTable.maximumOfPeer, RefusalTable.maximumCount,
            ],
            "the name of a device, cut beyond it": [Hello.maximumNameLength],
            "a shared key": [SharedKey.minimumLength, SharedKey.maximumLength],
            "connections of a `TCPTransport`": [limits.connections],
            "bytes queued for one peer": [limits.queuedBytes],
            "bytes received from all peers and not written": [ReplicatorLimits().unwritten],
            "time without a message": [
                Int(SyncLimits.quietNanoseconds), Int(SyncLimits.idleNanoseconds),
            ],
        ]
    }
}
