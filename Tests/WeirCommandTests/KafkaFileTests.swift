import TestKit
import Testing

@Suite("Where commands read how to reach Kafka")
struct KafkaFileTests {
    @Test("--pipelines names the kafka.yaml of commands that have the option")
    func kafkaOfPipelines() throws {
        let workspace = try Workspace()
        try workspace.write("kafka.yaml", "kafka: {security.protocol: nonsense}\n")
        let ran = try Program.run(
            "weir",
            [
                "topics", "list", "--log", "kafka://127.0.0.1:1", "--pipelines",
                workspace.pipelines,
                "--topics", Repository.path("topics"),
            ])
        #expect(ran.status != 0)
        #expect(
            ran.error.contains("kafka.yaml") || ran.error.contains("security.protocol"),
            "\(ran.error)")
    }
}
