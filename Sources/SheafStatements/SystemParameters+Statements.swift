import SheafDocument
package import SheafQuery
package import SheafStorage
import SheafSystem

extension SystemParameters {
    /// Applies a statement that sets, resets or shows parameters; returns its row.
    mutating func apply(
        _ change: ConfigurationChange, in text: String
    ) throws(StoreError) -> Object {
        do throws(StoreError) { return try apply(change) } catch {
            throw error.located(at: change.parameter ?? "", in: text)
        }
    }

    private mutating func apply(_ change: ConfigurationChange) throws(StoreError) -> Object {
        switch change {
        case .set(let name, let value):
            let name = try set(name, to: value)
            return Object([(name, value)])
        case .reset(let name):
            try reset(name)
            guard let name else { return all }
            return Object([(name.lowercased(), try value(name))])
        case .show(let name):
            return Object([(name.lowercased(), try value(name))])
        case .showAll(let matches):
            var found = Object()
            for field in all where try matches(field.name) { found[field.name] = field.value }
            return found
        }
    }
}

extension ConfigurationChange {
    /// The name of the parameter as it is written; nil if the statement names none.
    fileprivate var parameter: String? {
        switch self {
        case .set(let name, _), .show(let name): name
        case .reset(let name): name
        case .showAll: nil
        }
    }
}

extension QueryOptions {
    /// Creates the options of a run in a store with these parameters and options.
    package init(
        arguments: ArgumentValues, parameters: SystemParameters, options: LogStoreOptions
    ) {
        let random = options.random
        self.init(
            arguments: arguments, now: Int64(clamping: options.clock.wallMilliseconds()),
            isStrict: parameters.isStrict, clock: options.clock.monotonicNanoseconds,
            newID: { RandomID.make(random) })
        directives = parameters.defaultDirectives
    }
}
