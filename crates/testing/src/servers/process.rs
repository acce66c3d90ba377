//! A server as a process of its own, watched by a shell that ends it when the process that started it is gone.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Number of times that a killed server is started before that is an error.
const STARTS: usize = 25;

/// Waits for the end of its input, which comes when the test process ends in whatever way; then ends the server.
const WATCH: &str = r#"
trap '' INT TERM HUP
pid_file=$1; log=$2; folder=$3; shift 3
"$@" >>"$log" 2>&1 </dev/null &
pid=$!
echo $pid >"$pid_file.new" && mv "$pid_file.new" "$pid_file"
read -r order
all="$pid $(pgrep -P $pid)"
kill -CONT $all 2>/dev/null
case "$order" in
    stop) kill -INT $pid 2>/dev/null; wait $pid ;;
    kill) kill -KILL $all 2>/dev/null; wait $pid ;;
    *) kill -KILL $all 2>/dev/null; wait $pid; rm -rf "$folder" ;;
esac
rm -f "$pid_file"
"#;

/// Command that runs a server: its program and arguments.
#[derive(Clone, Debug)]
pub struct Run {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The port on which it is ready when it takes connections.
    pub port: u16,
}

/// A server that runs, or can be started again. Gone, with its folder, when dropped or when the process ends.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    run: Run,
    watch: Mutex<Option<Child>>,
}

impl Server {
    /// Starts a server in a folder, which is removed with it; `None` if it does not run.
    pub fn start(folder: PathBuf, run: Run) -> Option<Server> {
        let server = Server { folder, run, watch: Mutex::new(None) };
        server.resume_or_start().then_some(server)
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.run.port
    }

    /// The folder with its data.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Content of the server's log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Stops it in order; connections are closed. It can be started again.
    pub fn stop(&self) {
        self.end("stop");
    }

    /// Kills it and all that it started, as a power cut would.
    pub fn kill(&self) {
        self.end("kill");
    }

    /// Starts it again after [`Server::stop`] or [`Server::kill`], on the same port and data.
    pub fn start_again(&self) {
        // A killed server may still hold memory that it shares; the memory goes with the last of its processes.
        let starts = (0..STARTS).any(|start| {
            if start > 0 {
                // The one that watched is told to end: if it were only dropped, it would take the data with it.
                self.end("kill");
                std::thread::sleep(Duration::from_millis(200));
            }
            self.resume_or_start()
        });
        assert!(starts, "the server does not start again: {}", self.log());
    }

    /// Kills it and starts it again.
    pub fn restart(&self) {
        self.kill();
        self.start_again();
    }

    /// Halts it where it is: connections stay, and nothing is answered until [`Server::resume`].
    pub fn pause(&self) {
        // The parent first: then it starts no more children, and those that end stay until it has asked for them.
        self.signal("-STOP");
        self.signal_children("-STOP");
    }

    /// Lets it go on after [`Server::pause`].
    pub fn resume(&self) {
        self.signal_children("-CONT");
        self.signal("-CONT");
    }

    fn resume_or_start(&self) -> bool {
        let pid_file = self.folder.join("pid");
        let mut watch = Command::new("sh");
        watch.args(["-c", WATCH, "watch"]).args([&pid_file, &self.folder.join("log"), &self.folder]);
        watch.args(&self.run.command).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(child) = watch.spawn() else { return false };
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        // Twenty seconds, for machines that are busy.
        for step in 0..2_000 {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.run.port)).is_ok() {
                return true;
            }
            if step > 20 && self.has_ended() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    fn pid(&self) -> Option<u32> {
        std::fs::read_to_string(self.folder.join("pid")).ok()?.trim().parse().ok()
    }

    /// True if it was started and is there no more; while nobody has written its number it may still come.
    fn has_ended(&self) -> bool {
        let Some(pid) = self.pid() else { return false };
        // A process that has ended and was not yet waited for is a zombie.
        !std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    /// Sends a signal to its children. While it is halted none of them goes away.
    fn signal_children(&self, signal: &str) {
        let pid = self.pid().expect("the server runs").to_string();
        let children = Command::new("pgrep").args(["-P", &pid]).output().expect("pgrep runs").stdout;
        let children = String::from_utf8_lossy(&children).into_owned();
        if !children.trim().is_empty() {
            send(signal, children.split_whitespace());
        }
    }

    fn signal(&self, signal: &str) {
        send(signal, [self.pid().expect("the server runs").to_string().as_str()].into_iter());
    }

    fn end(&self, order: &str) {
        let child = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut child) = child else { return };
        if let Some(mut input) = child.stdin.take() {
            let _ = writeln!(input, "{order}");
        }
        let _ = child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end("drop");
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Sends a signal to processes that are there.
fn send<'a>(signal: &str, processes: impl Iterator<Item = &'a str>) {
    let processes: Vec<&str> = processes.collect();
    let status = Command::new("kill").arg(signal).args(&processes).status();
    assert!(status.is_ok_and(|status| status.success()), "kill {signal} {processes:?}");
}

/// A port on which nobody listens.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    listener.local_addr().expect("a listener has an address").port()
}

/// A new folder for a server, which `user` owns if this process may give it away.
pub fn server_folder(user: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("knotwork-{user}-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&path).expect("the temporary folder can be written");
    if is_root() {
        let status = Command::new("chown").arg(user).arg(&path).status();
        assert!(status.is_ok_and(|status| status.success()), "chown {user} {}", path.display());
    }
    path
}

/// Words before a command that make it run as another user than root, which servers refuse to be.
pub fn as_user(user: &str) -> Vec<String> {
    if !is_root() {
        return Vec::new();
    }
    let words = ["setpriv", &format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"];
    words.map(str::to_owned).to_vec()
}

/// Runs a command to its end; its standard output, or what went wrong.
pub fn run(command: &[String], input: &str) -> Result<String, String> {
    let (program, arguments) = command.split_first().expect("a command has a program");
    let mut process = Command::new(program);
    process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir("/");
    let mut child = process.spawn().map_err(|error| format!("{program}: {error}"))?;
    let mut standard_input = child.stdin.take().expect("the input is piped");
    let text = input.to_owned();
    let writer = std::thread::spawn(move || standard_input.write_all(text.as_bytes()));
    let output = child.wait_with_output().map_err(|error| format!("{program}: {error}"))?;
    let _ = writer.join();
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{program}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}
