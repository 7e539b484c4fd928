package import SheafHubLog
package import SheafReplication

/// The decision about a change, from the configuration that exists.
package enum ConfigurationChange: Sendable {
    /// The changed configuration must be stored.
    case store
    /// The configuration has the change already.
    case exists
    /// The configuration does not permit the change.
    case refuse
}

/// The configuration for the maintenance of a log.
extension ConfigurationFile {
    /// Returns the configuration; throws if there is none.
    package func existing() throws(SnapshotFailure) -> HubConfiguration {
        try onFile {
            guard let (configuration, _) = try load() else {
                throw HubLogError.missing(HubObjectName.configuration)
            }
            return configuration
        }
    }

    /// Changes the configuration by compare-and-swap; returns whether it has the change.
    ///
    /// `decide` is called again with the newer configuration if another hub changes it at once, or
    /// if the engine did not respond: then it may find its own change.
    package func decide(
        _ decide: (inout HubConfiguration) throws(SnapshotFailure) -> ConfigurationChange
    ) throws(SnapshotFailure) -> Bool {
        var isMade = false
        _ = try onFile {
            try change { found in
                var configuration = found
                let decision = try decide(&configuration)
                isMade = decision != .refuse
                return decision == .store ? configuration : nil
            }
        }
        return isMade
    }

    /// Stores a configuration that the engine has lost; does nothing if it has one.
    package func restore(_ configuration: HubConfiguration) throws(SnapshotFailure) {
        try onFile {
            guard try load() == nil else { return }
            let outcome = try log.replace(
                HubObjectName.configuration, with: configuration.bytes, at: nil)
            if case .ambiguous(let error) = outcome { throw error }
        }
    }

    private func onFile<Result>(_ body: () throws -> Result) throws(SnapshotFailure) -> Result {
        do {
            return try body()
        } catch let failure as SnapshotFailure {
            throw failure
        } catch let error as HubLogError {
            throw .log(error)
        } catch {
            throw .configuration("\(error)")
        }
    }
}
