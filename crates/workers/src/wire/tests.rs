//! Lines as Python writes them, and lines as nobody should.

use super::*;

fn read(bytes: &[u8]) -> Vec<Result<Message, String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut messages = MessageReader::new(bytes);
        let mut all = Vec::new();
        while let Ok(Some(message)) = messages.next().await {
            all.push(message);
        }
        all
    })
}

#[test]
fn messages_are_read_line_by_line() {
    let text = concat!(
        r#"{"say":"hello","role":"worker","pid":5,"generation":1,"id":7,"python":"3.11.7"}"#,
        "\n",
        r#"{"say":"ready","socket":"/w7.sock","seconds":0.25,"new_field":1}"#,
        "\n",
        r#"{"say":"failed","stage":"import","reason":"x","hint":null,"traceback":null}"#,
        "\n",
        r#"{"say":"exited","pid":5,"status":9,"maxrss_kb":1}"#,
        "\n{\"say\":\"free\"}\n{\"say\":\"pong\",\"n\":3}\n",
    );
    let all: Vec<Message> = read(text.as_bytes()).into_iter().map(Result::unwrap).collect();
    assert!(matches!(
        &all[0],
        Message::Hello(Hello { role: ProcessKind::Worker, id: Some(7), .. })
    ));
    assert!(matches!(&all[1], Message::Ready(ready) if ready.socket.is_some()));
    assert!(matches!(&all[2], Message::Failed(failed) if failed.stage == "import"));
    assert!(matches!(&all[3], Message::Exited { pid: 5, status: 9 }));
    assert!(matches!((&all[4], &all[5]), (Message::Free, Message::Pong { n: 3 })));
}

#[test]
fn a_line_that_is_not_understood_hides_no_other() {
    let all = read(b"\xff\xfe nonsense\n{\"say\":\"new\"}\n{\"say\":\"free\"}\ntorn");
    assert_eq!(all.len(), 3);
    assert!(all[0].is_err() && all[1].is_err() && all[2].is_ok());
}

#[test]
fn orders_are_lines() {
    assert_eq!(Instruction::Worker { id: 7 }.line(), b"{\"do\":\"worker\",\"id\":7}\n");
    assert_eq!(Instruction::Leave.line(), b"{\"do\":\"leave\"}\n");
}
