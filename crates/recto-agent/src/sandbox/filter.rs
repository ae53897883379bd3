//! System calls that a confined command cannot make.

use std::collections::BTreeMap;
use std::io;

use seccompiler::BpfProgram;
use seccompiler::SeccompAction;
use seccompiler::SeccompCmpArgLen;
use seccompiler::SeccompCmpOp;
use seccompiler::SeccompCondition;
use seccompiler::SeccompFilter;
use seccompiler::SeccompRule;
use seccompiler::TargetArch;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls of the other 32-bit convention have this bit.
const X32: i64 = 0x4000_0000;

fn failed(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

fn when(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, length, operator, value).map_err(failed)
}

fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(failed)
}

/// Calls that are refused whatever their arguments.
fn refused() -> Vec<i64> {
    let mut calls = vec![
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_fsopen,
        libc::SYS_fspick,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_mount_setattr,
        libc::SYS_chroot,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_open_by_handle_at,
        libc::SYS_name_to_handle_at,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_adjtimex,
        libc::SYS_clock_adjtime,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_syslog,
        libc::SYS_fanotify_init,
        libc::SYS_vhangup,
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_uselib]);
    calls
}

/// Refuses by arguments: kinds of sockets, new namespaces, typing into a terminal, programs
/// that run as their owner.
fn conditional(has_network: bool) -> io::Result<Vec<(i64, Vec<SeccompRule>)>> {
    use SeccompCmpArgLen::Dword;
    use SeccompCmpArgLen::Qword;
    use SeccompCmpOp::MaskedEq;
    use SeccompCmpOp::Ne;
    let mut families = vec![libc::AF_NETLINK];
    if has_network {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    let other = families.iter().map(|family| when(0, Dword, Ne, *family as u64));
    let mut rules = vec![(libc::SYS_socket, vec![rule(other.collect::<io::Result<_>>()?)?])];
    let spaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let of_flag = |flag: i32| {
        let flag = u64::from(flag.cast_unsigned());
        rule(vec![when(0, Qword, MaskedEq(flag), flag)?])
    };
    rules.push((
        libc::SYS_clone,
        spaces.iter().map(|flag| of_flag(*flag)).collect::<io::Result<_>>()?,
    ));
    // TIOCSTI, TIOCLINUX and TIOCSETD, whose type differs from one C library to another.
    let typing: [u64; 3] = [0x5412, 0x541c, 0x5423];
    let of_request = |request: &u64| rule(vec![when(1, Dword, SeccompCmpOp::Eq, *request)?]);
    rules.push((libc::SYS_ioctl, typing.iter().map(of_request).collect::<io::Result<_>>()?));
    let owner = |argument: u8| -> io::Result<Vec<SeccompRule>> {
        let bits = [libc::S_ISUID, libc::S_ISGID].map(u64::from);
        bits.iter().map(|bit| rule(vec![when(argument, Dword, MaskedEq(*bit), *bit)?])).collect()
    };
    // Only the command itself may be slowed down or limited, not other processes of the user.
    let others = |argument: u8| -> io::Result<Vec<SeccompRule>> {
        Ok(vec![rule(vec![when(argument, Dword, Ne, 0)?])?])
    };
    for (call, argument) in [
        (libc::SYS_setpriority, 1),
        (libc::SYS_prlimit64, 0),
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_sched_setparam, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_ioprio_set, 1),
        (libc::SYS_migrate_pages, 0),
    ] {
        rules.push((call, others(argument)?));
    }
    rules.push((libc::SYS_fchmod, owner(1)?));
    rules.push((libc::SYS_fchmodat, owner(2)?));
    rules.push((libc::SYS_fchmodat2, owner(2)?));
    #[cfg(target_arch = "x86_64")]
    rules.push((libc::SYS_chmod, owner(1)?));
    Ok(rules)
}

fn program(rules: Rules, error: i32) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
    let action = SeccompAction::Errno(error.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).map_err(failed)?;
    BpfProgram::try_from(filter).map_err(failed)
}

/// Refuses these calls from now on, in this thread and all that it starts.
pub(super) fn apply(has_network: bool) -> io::Result<()> {
    let mut rules: Rules = refused().into_iter().map(|call| (call, Vec::new())).collect();
    rules.extend(conditional(has_network)?);
    if cfg!(target_arch = "x86_64") {
        let twins: Rules = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(twins);
    }
    // The flags of this call are in memory, where no filter looks: the C library makes do.
    let mut missing: Rules = [(libc::SYS_clone3, Vec::new())].into();
    if cfg!(target_arch = "x86_64") {
        missing.insert(libc::SYS_clone3 | X32, Vec::new());
    }
    for (rules, error) in [(rules, libc::EPERM), (missing, libc::ENOSYS)] {
        seccompiler::apply_filter(&program(rules, error)?).map_err(failed)?;
    }
    Ok(())
}
