import Foundation
import SheafTestSupport
import Testing

/// The public names, which programs use beside frameworks for user interfaces.
@Suite struct CollidingNamesTests {
    /// Top-level types of frameworks that programs import together with Sheaf.
    private static let frameworks: [(module: String, names: String)] = [
        (
            "SwiftUI",
            """
            Alert Alignment Anchor Angle Animation App AppStorage Axis Bindable Binding Button
            ButtonStyle Canvas Capsule Circle Color ColorScheme Commands Configuration
            ContentUnavailableView ContentMode ControlGroup CoordinateSpace DatePicker
            DisclosureGroup Divider DocumentConfiguration DocumentGroup DragGesture DropInfo
            DynamicProperty Edge EditButton EditMode Ellipse EmptyView Entry Environment
            EnvironmentKey EnvironmentObject EnvironmentValues EventModifiers FetchRequest
            FetchedResults FileDocument FileDocumentConfiguration FocusState Font ForEach Form
            Gauge GeometryReader Gesture Gradient GraphicsContext Grid Group GroupBox HStack Image
            ImageRenderer KeyEquivalent KeyframeTrack Label Layout Link List LocalizedStringKey
            Material Menu Model Namespace NavigationLink NavigationPath NavigationStack
            ObservedObject OpenURLAction OutlineGroup Path PasteButton Phase Picker PinnedScrollableViews
            Popover PreferenceKey Preview ProgressView Prominence ProposedViewSize Rectangle
            RedactionReasons ReferenceFileDocument RoundedRectangle Scene ScenePhase SceneStorage
            ScrollView Section SectionedFetchRequest SectionedFetchResults SecureField Selection
            Settings Shape ShareLink Slider Spacer Spring State StateObject Stepper StrokeStyle
            SubmitLabel Subview SubviewsCollection Tab TabView Table TableColumn Text TextEditor
            TextField TimelineView Toggle ToolbarItem Transaction TransactionKey Transition
            UnitPoint VStack View ViewBuilder ViewModifier Visibility Widget Window
            WindowGroup ZStack
            """
        ),
        (
            "SwiftData",
            """
            Attribute BackingData DataStore DataStoreConfiguration DataStoreError DataStoreSnapshot
            DefaultHistoryDelete DefaultHistoryInsert DefaultHistoryTransaction
            DefaultHistoryUpdate DefaultStore EditingState FetchDescriptor FetchResultsCollection
            HistoryChange HistoryDelete HistoryDescriptor HistoryInsert HistoryProviding
            HistoryToken HistoryTombstone HistoryTransaction HistoryUpdate Index MigrationPlan
            MigrationStage Model ModelActor ModelConfiguration ModelContainer ModelContext
            ModelExecutor PersistentIdentifier PersistentModel Query Relationship
            RelationshipCollection Schema SchemaMigrationPlan SchemaProperty Snapshot
            SwiftDataError Transient Unique VersionedSchema
            """
        ),
        (
            "Combine",
            """
            AnyCancellable AnyPublisher AnySubject AnySubscriber AsyncPublisher
            AsyncThrowingPublisher Cancellable CombineIdentifier Completion
            ConnectablePublisher CurrentValueSubject CustomCombineIdentifierConvertible Deferred
            Demand Empty Fail Future ImmediateScheduler Just ObservableObject
            ObservableObjectPublisher PassthroughSubject Published Publisher Publishers Record
            Scheduler SchedulerTimeIntervalConvertible Subject Subscriber Subscribers Subscription
            Subscriptions TopLevelDecoder TopLevelEncoder
            """
        ),
        (
            "Observation",
            "Observable Observation ObservationRegistrar ObservationTracked Observations Observer"
        ),
        (
            "Testing",
            """
            Attachable AttachableWrapper Attachment Bug Comment Confirmation CustomExecutionTrait
            ExitTest ExpectationFailedError Expression Issue ParallelizationTrait Runner Severity
            SourceLocation Suite Tag Test TestScoping TestTrait Trait
            """
        ),
    ]

    /// More names that such modules could declare; they are those that Sheaf once had.
    private static let plausible = ["Field", "Observation", "Query", "Subscription", "Transaction"]

    /// Returns the names of the public top-level types of the sources.
    private func publicNames() throws -> [(name: String, file: String)] {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources").standardizedFileURL
        let files = try #require(FileManager.default.enumerator(atPath: root.path))
            .compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }
        return try files.filter { !$0.hasPrefix("DittoNames/") }.flatMap { file in
            let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
            let declaration =
                /(?m)^(?:@\w+ )*public (?:final |indirect )?(?:struct|class|enum|protocol|actor|typealias) (\w+)/
            return text.matches(of: declaration).map { (String($0.output.1), file) }
        }
    }

    @Test func `no public type has the name of a type of a user interface framework`() throws {
        let names = try publicNames()
        #expect(names.count > 40)
        for (module, list) in Self.frameworks {
            let taken = Set(list.split { $0 == " " || $0 == "\n" }.map(String.init))
            for (name, file) in names {
                #expect(!taken.contains(name), "\(file): \(module) has a type \(name), too")
            }
        }
    }

    @Test func `a program that imports such frameworks names all types without a module`() throws {
        let outside = OutsideProgram()
        for module in ["SwiftUI", "SwiftData", "Combine", "Observation"] {
            let names = Self.frameworks.first { $0.module == module }?.names ?? ""
            let declared = Set(names.split { $0 == " " || $0 == "\n" }.map(String.init))
                .union(Self.plausible).subtracting([module]).sorted()
            let source = declared.map { "public struct \($0) {}\n" }.joined()
            let module = try outside.compileModule(module, source)
            #expect(module.status == 0, "\(module.text)")
        }
        let outcome = try outside.check(
            """
            import Combine
            import Observation
            import Sheaf
            import SwiftData
            import SwiftUI

            struct Car: Codable, Sendable { var _id: String }

            func use(_ peer: Peer, _ token: AttachmentToken) async throws {
                let store: Store = peer.store
                let cars: DocumentCollection<Car> = store.collection("cars", of: Car.self)
                let query: DQL = "SELECT * FROM cars"
                let result: QueryResult = try await store.execute(query, QueryArguments())
                let item: QueryResultItem? = result.items.first
                let value: Value? = try item?["_id"]
                let observer: StoreObserver = try store.observe(query) { _ in }
                let observation: StoreObservation = try store.observe(query)
                let subscription: SyncSubscription = try peer.sync.registerSubscription(query)
                let attachment: StoredAttachment? = try await store.attachment(token)
                let changes: Diff = Differ().diff(result.items)
                try await store.transaction { (transaction: StoreTransaction) in
                    try await transaction.execute(query)
                }
                print(cars, value ?? .null, observer, observation, subscription)
                print(attachment as Any, changes)
            }
            """)
        #expect(outcome.status == 0, "\(outcome.text)")
    }

    @Test func `a name of two modules is reported by that check`() throws {
        let outside = OutsideProgram()
        #expect(
            try outside.compileModule("SwiftUI", "public struct StoreObserver {}\n").status == 0)
        let outcome = try outside.check(
            "import Sheaf\nimport SwiftUI\nlet query: StoreObserver? = nil\n")
        #expect(outcome.text.contains("'StoreObserver' is ambiguous for type lookup"))
    }
}
