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
        let found: (HubConfiguration, UInt64)?
        do { found = try load() } catch { throw Self.failure(error) }
        guard let (configuration, _) = found else {
            throw .configuration(HubError.lostConfiguration.message)
        }
        return configuration
    }

    /// Changes the configuration by compare-and-swap; returns whether it has the change.
    ///
    /// `decide` is called again with the newer configuration if another hub changes it
    /// concurrently, or if the engine did not respond: then it may find its own change.
    package func decide(
        _ decide: (inout HubConfiguration) throws(SnapshotFailure) -> ConfigurationChange
    ) throws(SnapshotFailure) -> Bool {
        var isMade = false
        do {
            _ = try change { found in
                var configuration = found
                let decision = try decide(&configuration)
                isMade = decision != .refuse
                return decision == .store ? configuration : nil
            }
        } catch {
            throw Self.failure(error)
        }
        return isMade
    }

    /// Stores a configuration that the engine has lost; does nothing if it has one.
    package func restore(_ configuration: HubConfiguration) throws(SnapshotFailure) {
        do {
            guard try load() == nil else { return }
            let outcome = try log.replace(
                HubObjectName.configuration, with: configuration.bytes, at: nil)
            if case .ambiguous(let error) = outcome { throw error }
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: any Error) -> SnapshotFailure {
        switch error {
        case let failure as SnapshotFailure: failure
        case let error as HubLogError: .log(error)
        default: .configuration("\(error)")
        }
    }
}
