import SheafQuery
import SheafStorage

/// The parameters of the system, and what statements share of what is made of them.
final class SharedParameters: Sendable {
    let values: SystemParameters
    let collections: SystemCollections
    /// Whether statements mean what they say, and nothing besides.
    let arePlain: Bool

    init(
        _ values: SystemParameters, _ requests: RequestLog, _ board: SyncBoard, clock: Clock
    ) {
        self.values = values
        collections = SystemCollections(values, requests, board, clock: clock)
        arePlain = !values.isStrict && values.defaultDirectives.isEmpty
    }
}
